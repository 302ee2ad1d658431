import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApp, durable, MemoryStorage, parallel, type Context, type Workflow } from "@durable/core";
import { describe, expect, onTestFinished, test } from "vitest";
import { textOf } from "../src/golden/report.ts";
import { GoldenError, recordGolden, replayGolden, virtualWorld, type GoldenJournal } from "../src/index.ts";

const secret = "a secret for tests, of no worth";
type Body = (ctx: Context, input: { readonly topic: string }) => unknown;

/** Every body that started, in any code. */
const bodies: string[] = [];
const work = (name: string) => () => {
  bodies.push(name);
  return `${name} done`;
};

const flow = (body: Body): Workflow<{ readonly topic: string }, unknown> => durable("article", body);

const reviewed = flow(async (ctx, { topic }) => {
  const plan = await ctx.step("plan", work("plan"), { input: topic });
  const parts = await ctx.parallel({
    left: (c) => c.step("write", work("left")),
    right: (c) => parallel(c, [(inner) => inner.step("write", work("right"))]),
  });
  return [plan, parts, await ctx.suspend<string>("approve"), await ctx.step("print", work("print"))];
});

const reviewedBody = reviewed.definition.body as Body;

/** The journal of a run of this code: parked, or, with an answer, at its end. */
async function recorded(
  code: Workflow<{ readonly topic: string }, unknown>,
  answer?: string,
): Promise<GoldenJournal> {
  const world = virtualWorld();
  const storage = new MemoryStorage({ now: () => world.now() });
  const bound = code.with({ world, storage, secret });
  const parked = await world.run(bound.run({ topic: "tides" }, { id: "a-1" }));
  if (answer !== undefined && parked.status === "suspended")
    await world.run(bound.resume(parked.waiting[0]!.token, answer));
  return recordGolden(storage, "a-1");
}

async function verdictOf(journal: GoldenJournal, against: Workflow<never, unknown>) {
  bodies.length = 0;
  const { journals } = await replayGolden(journal, { against, report: true });
  expect(bodies, "no body may run").toEqual([]);
  return journals[0]!;
}

describe("recordGolden", () => {
  test("gives plain JSON that survives a file, and whose batches are byte for byte what was written", async () => {
    const world = virtualWorld();
    const storage = new MemoryStorage({ now: () => world.now() });
    const bound = reviewed.with({ world, storage, secret });
    await world.run(bound.run({ topic: "tides" }, { id: "a-1" }));
    const journal = await recordGolden(storage, "a-1");
    expect(journal).toMatchObject({ format: 4, runId: "a-1", workflow: "article" });
    expect(JSON.parse(JSON.stringify(journal))).toEqual(journal);
    const { batches } = await storage.read((await storage.list()).runs[0]!.locator);
    expect(journal.batches.map((batch) => JSON.stringify(batch))).toEqual(batches);
  });

  test("includes the ancestors of a fork of a fork, also deleted ones, and no more", async () => {
    const world = virtualWorld();
    const storage = new MemoryStorage({ now: () => world.now() });
    const bound = reviewed.with({ world, storage, secret });
    const app = createApp({ world, storage, secret, workflows: [reviewed] });
    const parked = await world.run(bound.run({ topic: "tides" }, { id: "a-1" }));
    const length = 4;
    const fork = await bound.fork("a-1", { from: "parallel[left]/write", id: "a-2" });
    await world.run(fork.result().catch(() => null));
    const second = await bound.fork("a-2", { after: "parallel", id: "a-3" });
    await world.run(second.result().catch(() => null));
    await world.run(bound.resume(parked.status === "suspended" ? parked.waiting[0]!.token : "", "later"));
    await app.delete("a-1");
    const journal = await recordGolden(storage, "a-3");
    expect(journal.ancestors?.map(({ runId }) => runId)).toEqual(["a-1", "a-2"]);
    expect(journal.ancestors?.[0]?.batches.length, "as long as it was then").toBeLessThanOrEqual(length);
    expect(await verdictOf(journal, reviewed)).toMatchObject({ verdict: "replays" });
  });

  test("of an unknown run is an error", async () => {
    await expect(recordGolden(new MemoryStorage(), "a-1")).rejects.toMatchObject({ code: "not-found" });
    await expect(recordGolden(new MemoryStorage(), "../a")).rejects.toMatchObject({ code: "invalid-id" });
  });
});

describe("replayGolden: a run that ended", () => {
  test("replays to its recorded end, without running a step", async () => {
    expect(await verdictOf(await recorded(reviewed, "fine"), reviewed)).toEqual({
      source: "journal 1",
      runId: "a-1",
      workflow: "article",
      verdict: "replays",
      message: null,
      warnings: [],
    });
  });

  test("would run a step that its journal does not have, in a branch too", async () => {
    const journal = await recorded(reviewed, "fine");
    const inserted = flow(async (ctx, { topic }) => {
      await ctx.parallel([(c) => parallel(c, { more: (inner) => inner.step("check", work("check")) })], {
        name: "checks",
      });
      return reviewedBody(ctx, { topic });
    });
    const { verdict, message } = await verdictOf(journal, inserted);
    expect(verdict).toBe("would run checks[0]/parallel[more]/check");
    expect(message).toBe(
      'Run a-1 has no record of step "checks[0]/parallel[more]/check": with this code it would run.',
    );
  });

  test("that reaches another end has diverged, and both ends are reported; stacks are not compared", async () => {
    const journal = await recorded(reviewed, "fine");
    const other = flow(async (ctx, input) => [await reviewedBody(ctx, input), "more"]);
    const { verdict, message } = await verdictOf(journal, other);
    expect(verdict).toBe("diverged");
    expect(message).toMatch(
      /^Run a-1 ended as completed with \["plan done".*; with this code it ends with \[\[/,
    );
    const failing = (): Workflow<{ readonly topic: string }, unknown> =>
      flow((ctx) => ctx.step("plan", () => Promise.reject(new Error("no")), { retry: false }));
    expect(await verdictOf(await recorded(failing()), failing())).toMatchObject({ verdict: "replays" });
  });

  test("shows the warnings of the library: recorded results that the code did not use", async () => {
    const without = flow(async (ctx) => {
      await ctx.suspend("approve");
      return "short";
    });
    const { verdict, warnings } = await verdictOf(await recorded(reviewed, "fine"), without);
    expect(verdict).toBe("diverged");
    expect(warnings).toEqual([expect.stringMatching(/4 recorded result\(s\) that the code did not use/)]);
  });
});

describe("replayGolden: a run that is parked", () => {
  test("replays to the same open waits", async () => {
    expect(await verdictOf(await recorded(reviewed), reviewed)).toMatchObject({ verdict: "replays" });
    const sleeping = flow(async (ctx) => {
      await ctx.sleep("30 days");
      return ctx.step("after", work("after"));
    });
    expect(await verdictOf(await recorded(sleeping), sleeping)).toMatchObject({ verdict: "replays" });
  });

  test.each<[string, Body, RegExp]>([
    [
      "another declared input",
      (ctx) => ctx.step("plan", work("plan"), { input: "other" }),
      /^Run a-1 does not fit this code: "plan" is recorded with input/,
    ],
    ["another kind", (ctx) => ctx.sleep("1h", { name: "plan" }), /recorded as kind "step".*kind "sleep"/],
    ["a wait that is gone", () => "done", /the code ended without reaching the open suspend point "approve"/],
    [
      "a wait that is new",
      (ctx, input) => Promise.all([ctx.suspend("legal"), reviewedBody(ctx, input)]),
      /^Run a-1 waits for "approve"; with this code it waits for "approve", "legal"\.$/,
    ],
    ["code that throws", () => Promise.reject(new TypeError("topic is undefined")), /topic is undefined/],
  ])("has diverged: %s, in the library's words", async (_, code, words) => {
    const { verdict, message } = await verdictOf(await recorded(reviewed), flow(code));
    expect(verdict).toBe("diverged");
    expect(message).toMatch(words);
  });

  test("would run a step that was inserted before the wait", async () => {
    const inserted = flow(async (ctx, input) => {
      await ctx.step("check-sources", work("check"));
      return reviewedBody(ctx, input);
    });
    expect(await verdictOf(await recorded(reviewed), inserted)).toMatchObject({
      verdict: "would run check-sources",
    });
  });

  test("and was answered since, or was cancelled, may go on with whatever comes next", async () => {
    const journal = await recorded(reviewed);
    for (const entry of [
      { kind: "run.cancelled", reason: null },
      { kind: "suspend.answered", wait: JSON.stringify(journal).match(/"wait":"(\w+)"/)?.[1], value: "yes" },
    ]) {
      const outside = {
        v: 4,
        by: "another.1",
        outside: true,
        entries: [{ at: 1_800_000_000_000, ...entry }],
      };
      const later = { ...journal, batches: [...journal.batches, outside] };
      expect(await verdictOf(later, reviewed), entry.kind).toMatchObject({ verdict: "replays" });
      const diverged = flow((ctx) => ctx.sleep("1h", { name: "plan" }));
      expect(await verdictOf(later, diverged), entry.kind).toMatchObject({ verdict: "diverged" });
    }
  });
});

describe("replayGolden: what cannot be replayed", () => {
  test("a missing workflow, a newer journal, a newer file, and a file that is not a journal", async () => {
    const journal = await recorded(reviewed);
    const newer = { ...journal, batches: journal.batches.map((batch) => ({ ...(batch as object), v: 5 })) };
    const damaged = { ...journal, batches: [...journal.batches, "{"] };
    const { journals } = await replayGolden(
      [
        { ...journal, workflow: "another name" },
        newer,
        { ...journal, format: 5 },
        { ...journal, format: 3 },
        damaged,
        { ...journal, batches: [] },
        { ...journal, runId: "another" },
        JSON.parse('{"batches":7}') as GoldenJournal,
      ],
      { against: durable("other", () => 1), report: true },
    );
    expect(journals.map(({ verdict }) => verdict)).toEqual([
      "unknown-workflow",
      "newer-format",
      "newer-format",
      "pre-release",
      "corrupt",
      "corrupt",
      "tampered",
      "corrupt",
    ]);
    expect(journals[0]?.message).toMatch(/belongs to workflow "article", which is not known here/);
    expect(journals[1]?.message).toMatch(/Batch 0 of run .* has format 5, newer than this build reads \(4\)/);
    expect(journals[4]?.message).toMatch(/Batch 4 of run a-1 was not written by this library/);
  });
});

describe("replayGolden: files and the report", () => {
  async function folder(): Promise<string> {
    const made = mkdtempSync(join(tmpdir(), "durable-golden-"));
    onTestFinished(() => rmSync(made, { recursive: true, force: true }));
    writeFileSync(join(made, "a-parked.json"), JSON.stringify(await recorded(reviewed)));
    writeFileSync(join(made, "b-ended.json"), JSON.stringify(await recorded(reviewed, "fine")));
    return made;
  }

  test("takes paths, globs and journals together, in the order of their names", async () => {
    const made = await folder();
    const own = await recorded(reviewed);
    const report = await replayGolden([join(made, "*.json"), own], { against: [reviewed] });
    expect(report.ok).toBe(true);
    expect(report.journals.map(({ source }) => source)).toEqual([
      join(made, "a-parked.json"),
      join(made, "b-ended.json"),
      "journal 2",
    ]);
    expect(report.toString()).toMatch(/^3 journals: all replay\n {2}replays {2}/);
  });

  test("a pattern that finds nothing, and no journals at all, are errors: such a test would test nothing", async () => {
    const made = await folder();
    const pattern = join(made, "*.jsonl");
    await expect(replayGolden(pattern, { against: reviewed })).rejects.toThrow(
      `no file for ${JSON.stringify(pattern)}`,
    );
    await expect(replayGolden([], { against: reviewed })).rejects.toThrow("at least one journal");
  });

  test("throws by default, with the report as its message: aligned, and without colours outside a terminal", async () => {
    const made = await folder();
    writeFileSync(join(made, "c.json"), "not JSON");
    const changed = flow((ctx) => ctx.sleep("1h", { name: "plan" }));
    const error = await replayGolden(join(made, "*.json"), { against: changed }).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(GoldenError);
    const lines = (error as GoldenError).message.replaceAll(made, "journals").trimEnd().split("\n");
    expect(lines.map((line) => line.slice(0, 60).trimEnd())).toMatchInlineSnapshot(`
      [
        "3 journals: 3 do not replay",
        "  diverged  journals/a-parked.json  article  a-1",
        "      Run a-1 does not fit this code: "plan" is recorded as",
        "  diverged  journals/b-ended.json   article  a-1",
        "      Run a-1 does not fit this code: "plan" is recorded as",
        "  corrupt   journals/c.json",
        "      Unexpected token 'o', "not JSON" is not valid JSON",
      ]
    `);
    expect((error as GoldenError).report.ok).toBe(false);
    const { journals } = (error as GoldenError).report;
    expect(textOf(journals, false)).not.toContain("\u001B");
    expect(textOf(journals, true)).toContain("\u001B[31m");
  });
});
