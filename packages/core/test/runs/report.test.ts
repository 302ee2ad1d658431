import { copyRuns, createApp, durable, limits, MemoryStorage, type Storage } from "@durable/core";
import { aesGcm } from "@durable/core/encryption";
import { countingStorage, crashEverywhere } from "@durable/testing";
import { describe, expect, test } from "vitest";
import { hooked, kindsOf, lab, sqliteLab, tokenOf } from "../support/behaviour-lab.ts";

/** Reports before and after a wait. */
const works = durable("works", async (ctx, input: { readonly steps: number }) => {
  ctx.report({ done: 0, of: input.steps });
  for (let n = 1; n <= input.steps; n++) {
    await ctx.step("work", () => n);
    ctx.report({ done: n, of: input.steps });
  }
  await ctx.suspend("ok");
  ctx.report("ready");
  return "end";
});

describe("ctx.report", () => {
  test("is seen in the outcome and in lists, and costs no append", async () => {
    const on = lab();
    const counted = countingStorage(on.storage);
    const flow = works.with({ ...on, storage: counted });
    const outcome = await on.world.run(flow.run({ steps: 3 }, { id: "r" }));
    expect(outcome).toMatchObject({ status: "suspended", report: { done: 3, of: 3 } });
    expect(await flow.get("r").outcome()).toMatchObject({ report: { done: 3, of: 3 } });
    expect((await flow.list()).runs).toMatchObject([{ runId: "r", report: { done: 3, of: 3 } }]);
    // The start, three steps, and the wait with the park.
    expect(counted.counts.appends).toBe(5);
    const { outcome: end } = await on.world.run(flow.resume(tokenOf(outcome), 1));
    expect(end).toMatchObject({ status: "completed", output: "end", report: "ready" });
    expect((await createApp({ ...on, workflows: [] }).list()).runs).toMatchObject([{ report: "ready" }]);
  });

  test("goes to the storage only with the appends that change it", async () => {
    const on = lab();
    const reports: unknown[] = [];
    const storage: Storage = {
      ...hooked(on.storage, () => {}),
      append: (request) => {
        reports.push(request.report);
        return on.storage.append(request);
      },
    };
    const flow = works.with({ ...on, storage });
    const outcome = await on.world.run(flow.run({ steps: 1 }, { id: "r" }));
    await on.world.run(flow.resume(tokenOf(outcome), 1));
    // The start, the step, the wait, the answer, the end.
    expect(reports).toEqual([undefined, '{"done":0,"of":1}', '{"done":1,"of":1}', undefined, '"ready"']);
  });

  test("is not written again on replay", async () => {
    const on = lab();
    const flow = works.with(on);
    const outcome = await on.world.run(flow.run({ steps: 2 }, { id: "r" }));
    await on.world.run(works.with(on).resume(tokenOf(outcome), 1));
    const kinds = await kindsOf(flow.get("r"));
    expect(kinds.filter((kind) => kind.startsWith("report"))).toEqual([
      "report.set ctx.report",
      "report.set ctx.report#2",
      "report.set ctx.report#3",
      "report.set ctx.report#4",
    ]);
  });

  test("can be added to code whose run is under way", async () => {
    const on = lab();
    const before = durable("grows", async (ctx) => {
      await ctx.step("report", () => 1);
      return ctx.suspend("ok");
    }).with(on);
    const outcome = await on.world.run(before.run(undefined, { id: "r" }));
    const after = durable("grows", async (ctx) => {
      ctx.report("begun");
      await ctx.step("report", () => 1);
      return ctx.suspend("ok");
    }).with(on);
    const { outcome: end } = await on.world.run(after.resume(tokenOf(outcome), 1));
    expect(end).toMatchObject({ status: "completed", report: "begun" });
  });

  test("a run that reports nothing has no report", async () => {
    const on = lab();
    const flow = durable("silent", () => 1).with(on);
    const outcome = await on.world.run(flow.run(undefined, { id: "r" }));
    expect("report" in outcome).toBe(false);
    expect("report" in (await flow.list()).runs[0]!).toBe(false);
  });

  test("one that is too large is refused, and one in a step", async () => {
    const on = lab();
    const flow = durable("large", async (ctx) => {
      const refused = (given: () => void): unknown => {
        try {
          given();
        } catch (error) {
          return (error as Error).message;
        }
        return null;
      };
      const large = refused(() => ctx.report("x".repeat(limits.reportBytes)));
      return [large, await ctx.step("inside", () => refused(() => ctx.report(1)))];
    }).with(on);
    const outcome = await on.world.run(flow.run(undefined, { id: "r" }));
    expect(outcome).toMatchObject({
      output: [expect.stringContaining("report of run r"), expect.stringContaining("inside")],
    });
  });

  test("goes on in the next chapter, and into forks", async () => {
    const on = lab();
    const flow = durable("chapters", async (ctx, n: number): Promise<string> => {
      if (n === 1) {
        ctx.report("chapter 1");
        return ctx.continueAs(2);
      }
      await ctx.step("a", () => 1);
      return "end";
    }).with(on);
    await on.world.run(flow.run(1, { id: "r" }));
    expect(await flow.get("r").outcome()).toMatchObject({ report: "chapter 1" });
    const parent = works.with(on);
    const outcome = await on.world.run(parent.run({ steps: 2 }, { id: "p" }));
    expect(outcome.status).toBe("suspended");
    const fork = await on.world.run(parent.get("p").fork({ from: "ok", id: "f" }));
    await expect(on.world.run(fork.result())).rejects.toMatchObject({ code: "suspended" });
    expect((await parent.list()).runs.map(({ runId, report }) => [runId, report])).toEqual([
      ["f", { done: 2, of: 2 }],
      ["p", { done: 2, of: 2 }],
    ]);
  });

  test("goes with a copy of the run", async () => {
    const on = lab();
    const flow = works.with(on);
    await on.world.run(flow.run({ steps: 1 }, { id: "r" }));
    const to = new MemoryStorage();
    await copyRuns(on.storage, to);
    expect((await works.with({ ...on, storage: to }).list()).runs).toMatchObject([
      { runId: "r", report: { done: 1, of: 1 } },
    ]);
  });

  test("is kept by SQLite", async () => {
    const on = sqliteLab();
    const flow = works.with(on);
    await on.world.run(flow.run({ steps: 1 }, { id: "r" }));
    expect((await flow.list()).runs).toMatchObject([{ runId: "r", report: { done: 1, of: 1 } }]);
  });
});

test("with a cipher neither the journal nor the head has it in clear", async () => {
  const on = lab();
  const key = Uint8Array.from({ length: 32 }, (_, at) => at * 3 + 1);
  const encryption = aesGcm({ current: "one", keys: { one: key } });
  const flow = durable("sealed", async (ctx) => {
    ctx.report({ account: "very private" });
    const message = await ctx.receive("note");
    return message;
  }).with({ ...on, encryption });
  const run = await on.world.run(flow.start(undefined, { id: "r" }));
  await on.world.run(run.send("note", "also private"));
  expect(await on.world.run(run.result())).toBe("also private");
  const [head] = (await on.storage.list()).runs;
  const { batches } = await on.storage.read(head!.locator);
  expect(JSON.stringify([head, batches])).not.toContain("private");
  expect((await flow.list()).runs).toMatchObject([{ report: { account: "very private" } }]);
  // A process without the key lists the run, without its report.
  const [listed] = (await createApp({ ...on, workflows: [] }).list()).runs;
  expect(listed).toMatchObject({ runId: "r", status: "completed" });
  expect(listed && "report" in listed).toBe(false);
});

test("a crash at every point loses no report and writes none twice", { timeout: 300_000 }, async () => {
  const report = await crashEverywhere(works, {
    input: { steps: 2 },
    resume: { ok: 1 },
    faults: ["crash-before", "crash-after", "lose-reply"],
  });
  expect(report.ok).toBe(true);
});
