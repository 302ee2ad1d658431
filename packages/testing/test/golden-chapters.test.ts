/** Golden journals of runs with chapters, of long lines of forks, and of runs that ended while work went on. */

import { createApp, durable, MemoryStorage, type App } from "@durable/core";
import type { Cipher } from "@durable/core/storage";
import { aesGcm } from "@durable/core/encryption";
import { describe, expect, test } from "vitest";
import { recordGolden, replayGolden, virtualWorld, type GoldenJournal } from "../src/index.ts";

const secret = "a secret for tests, of no worth";
const text = (n: number): string => `page ${n} `.repeat(600);

const diary = durable("diary", async (ctx, day: number) => {
  const page = await ctx.step("page", () => [text(0), text(day)]);
  const told = await ctx.suspend<string>("told");
  if (told === "on") return ctx.continueAs(day + 1);
  return [day, page.length, told];
});

const cipher = aesGcm({ current: "one", keys: { one: Uint8Array.from({ length: 32 }, (_, at) => at + 3) } });

function lab(encryption?: Cipher) {
  const world = virtualWorld();
  const storage = new MemoryStorage({ now: () => world.now() });
  const app = createApp({ world, storage, secret, encryption, workflows: [diary] });
  return { world, storage, app };
}

type Lab = ReturnType<typeof lab>;

async function answer(
  { world, app }: { world: Lab["world"]; app: App },
  id: string,
  value: string,
): Promise<void> {
  const outcome = await app.get(id).outcome();
  const token = outcome.status === "suspended" ? outcome.waiting[0]!.token : "";
  expect(await world.run(app.resume(token, value))).toMatchObject({ status: "accepted" });
}

/** A diary that waits on its third day. */
async function thirdDay(on: Lab): Promise<void> {
  const run = await on.app.start("diary", 1, { id: "d" });
  await on.world.run(run.result().catch(() => null));
  await answer(on, "d", "on");
  await answer(on, "d", "on");
}

async function drop({ storage }: Lab): Promise<number> {
  const { locator, chapter = 0 } = (await storage.list()).runs.find(({ runId }) => runId === "d")!;
  await storage.dropChapters(locator, chapter);
  return chapter;
}

const verdictOf = async (journal: GoldenJournal, encryption?: Cipher): Promise<string | undefined> =>
  (await replayGolden(journal, { against: diary, report: true, encryption })).journals[0]?.verdict;

describe("a run with chapters", () => {
  test.each([
    ["plain", undefined, "corrupt"],
    ["encrypted", cipher, "tampered"],
  ])("is recorded whole, and without the chapters that were dropped: %s", async (_, encryption, damage) => {
    const on = lab(encryption);
    await thirdDay(on);
    const whole = await recordGolden(on.storage, "d", { encryption });
    expect(whole).toMatchObject({ format: 4, runId: "d", workflow: "diary" });
    expect(whole.from).toBeUndefined();
    expect(await verdictOf(whole, encryption)).toBe("replays");
    const from = await drop(on);
    const rest = await recordGolden(on.storage, "d", { encryption });
    expect(rest).toMatchObject({ format: 4, runId: "d", workflow: "diary", from });
    expect(rest.batches).toEqual(whole.batches.slice(from));
    expect(await verdictOf(rest, encryption)).toBe("replays");
    expect(await verdictOf({ ...rest, batches: rest.batches.slice(1) }, encryption)).toBe(damage);
    const { from: _from, ...unplaced } = rest;
    expect(await verdictOf(unplaced, encryption)).not.toBe("replays");
  });

  test("is recorded with the end of its last chapter, and a change of the code shows", async () => {
    const on = lab();
    await thirdDay(on);
    await answer(on, "d", "end");
    const journal = await recordGolden(on.storage, "d");
    expect(await verdictOf(journal)).toBe("replays");
    const other = durable("diary", async (ctx, day: number) => {
      await ctx.step("page", () => [""]);
      return [day, await ctx.suspend("told")];
    });
    const report = await replayGolden(journal, { against: other, report: true });
    expect(report.journals[0]).toMatchObject({ verdict: "diverged" });
  });

  test("of which a fork reads one is recorded with that chapter alone", async () => {
    const on = lab();
    await thirdDay(on);
    const fork = await on.app.get("d").fork({ from: "told", id: "f" });
    await on.world.run(fork.result().catch(() => null));
    const { chapter } = (await on.storage.list()).runs.find(({ runId }) => runId === "d")!;
    const journal = await recordGolden(on.storage, "f");
    expect(journal).toMatchObject({ format: 4, ancestors: [{ runId: "d", from: chapter }] });
    expect(await verdictOf(journal)).toBe("replays");
    expect(await verdictOf({ ...journal, ancestors: [] })).toBe("corrupt");
  });
});

test("a long line of forks is recorded with all ancestors, also those that it does not name", async () => {
  const rounds = durable("rounds", async (ctx) => {
    for (let n = 1; ; n++) {
      await ctx.step("round", () => n);
      if ((await ctx.suspend("more")) === "end") return n;
    }
  });
  const world = virtualWorld();
  const storage = new MemoryStorage({ now: () => world.now() });
  const app = createApp({ world, storage, secret, workflows: [rounds] });
  const flow = rounds.with({ world, storage, secret });
  await world.run(flow.run(undefined, { id: "f-0" }));
  const length = 35;
  for (let n = 1; n <= length; n++) {
    const fork = await flow.fork(`f-${n - 1}`, { from: n === 1 ? "more" : `more#${n}`, id: `f-${n}` });
    await world.run(fork.result().catch(() => null));
    await answer({ world, app }, `f-${n}`, "go");
  }
  const journal = await recordGolden(storage, `f-${length}`);
  expect(journal.ancestors?.map(({ runId }) => runId)).toEqual(Array.from({ length }, (_, n) => `f-${n}`));
  const verdicts = await replayGolden(
    [journal, { ...journal, ancestors: journal.ancestors?.slice(1) ?? [] }],
    { against: rounds, report: true },
  );
  expect(verdicts.journals.map(({ verdict }) => verdict)).toEqual(["replays", "corrupt"]);
});

test("work that a run left behind is not reported, and other work is", async () => {
  const ran: string[] = [];
  const code = (more: boolean) =>
    durable("hasty", async (ctx) => {
      void ctx.step("slow", () => (ran.push("slow"), new Promise<never>(() => {})));
      if (more) await ctx.step("more", () => ran.push("more"));
      return ctx.step("quick", () => "done");
    });
  const world = virtualWorld();
  const storage = new MemoryStorage({ now: () => world.now() });
  const outcome = await world.run(code(false).with({ world, storage, secret }).run(undefined, { id: "h" }));
  expect(outcome).toMatchObject({ status: "completed", abandoned: ["slow"] });
  const journal = await recordGolden(storage, "h");
  ran.length = 0;
  const verdict = async (more: boolean): Promise<string | undefined> =>
    (await replayGolden(journal, { against: code(more), report: true })).journals[0]?.verdict;
  expect(await verdict(false)).toBe("replays");
  expect(await verdict(true)).toBe("would run more");
  expect(ran).toEqual([]);
});
