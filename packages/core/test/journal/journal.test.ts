/** The journal as its drivers hold it: what they may write, and what they may no longer. */

import { durable, DurableError, MemoryStorage, type ErrorCode } from "@durable/core";
import { virtualWorld } from "@durable/testing";
import { describe, expect, test } from "vitest";
import { Replay } from "../../src/engine/replay.ts";
import { writeFact } from "../../src/journal/batch.ts";
import type { Entry } from "../../src/journal/entry.ts";
import { RunJournal } from "../../src/journal/journal.ts";
import { locatorOf } from "../../src/journal/keys.ts";
import { failureOf, hooked, lab, type Lab, type Moment } from "../support/behaviour-lab.ts";

const world = virtualWorld();
const completed = (key: string) =>
  writeFact({ kind: "step.completed", key, after: 0, startedAt: 0, attempt: 1, value: key }, world.now());

async function twoDrivers() {
  const options = { storage: new MemoryStorage({ now: () => world.now() }), world };
  const first = new RunJournal(locatorOf("r"), options);
  const started = {
    kind: "run.started",
    runId: "r",
    nonce: "n",
    workflow: "w",
    version: null,
    input: null,
  } as const;
  await first.append([writeFact(started, world.now())]);
  first.driven = true;
  const second = (await RunJournal.open(locatorOf("r"), options))!;
  second.driven = true;
  const length = async (): Promise<number> => (await options.storage.read(locatorOf("r"))).length;
  return { first, second, length };
}

describe("journal.5 a driver that has seen another one's batch", () => {
  test("writes nothing more, though the journal has just the length it knows", async () => {
    const { first, second, length } = await twoDrivers();
    expect(await second.append([completed("a")])).toMatchObject({ kind: "landed" });
    await first.refresh();
    expect(await first.append([completed("b")])).toEqual({ kind: "lost" });
    expect(await length()).toBe(2);
  });

  test("nor after the end of the run, whoever wrote it", async () => {
    const { first, second, length } = await twoDrivers();
    const cancelled = writeFact({ kind: "run.cancelled", reason: null }, world.now());
    await second.append([cancelled], { outside: true });
    await first.refresh();
    expect(await first.append([completed("b")])).toEqual({ kind: "lost" });
    expect(await length()).toBe(2);
  });

  test("an answer from outside does not stop it", async () => {
    const { first, second, length } = await twoDrivers();
    const answered = writeFact({ kind: "suspend.answered", wait: "w", value: 1 }, world.now());
    await second.append([answered], { outside: true });
    await first.refresh();
    expect(await first.append([completed("b")])).toMatchObject({ kind: "landed" });
    expect(await length()).toBe(3);
  });
});

test("H29 an answer that was decided on before a look took another one in is not written: it is decided again", async () => {
  const { first, second, length } = await twoDrivers();
  const answered = (value: number) => writeFact({ kind: "suspend.answered", wait: "w", value }, world.now());
  await second.append([answered(1)], { outside: true });
  const looking = first.refresh();
  expect(await first.append([answered(2)], { outside: true })).toMatchObject({ kind: "absorbed" });
  expect(await looking).toHaveLength(1);
  expect(await length()).toBe(2);
});

test("replay.1 settlements that waited for their calls are delivered lowest position first, however they are called", () => {
  const settled = (key: string, seq: number): Entry => ({
    ...completed(key).fact,
    at: 0,
    seq,
    outside: false,
  });
  for (const order of [
    ["a", "b", "c"],
    ["c", "b", "a"],
    ["b", "c", "a"],
    ["c", "a", "b"],
  ]) {
    const replay = new Replay();
    for (const [index, key] of ["a", "b", "c"].entries()) replay.learn(settled(key, index + 2));
    for (let i = 0; i < 3; i++) {
      expect(replay.next()?.kind).toBe("uncalled");
      replay.pass();
    }
    for (const key of order) replay.call(key);
    expect([replay.next(), replay.next(), replay.next()].map((next) => next?.settlement.key)).toEqual([
      "a",
      "b",
      "c",
    ]);
    expect(replay.next()).toBeNull();
  }
});

describe("a write that is refused for good", () => {
  const flow = durable("plain", (ctx) => ctx.step("a", () => 1));

  /** Refuses appends before or after they are carried out, the first so many of them. */
  function refusing(on: Lab, when: Moment, times: number, code: ErrorCode = "no-storage") {
    const appends = { refused: 0 };
    const storage = hooked(on.storage, (operation, moment) => {
      if (operation !== "append" || moment !== when || appends.refused === times) return;
      appends.refused += 1;
      throw new DurableError(code, "Not here.");
    });
    return { appends, flow: flow.with({ ...on, storage }) };
  }

  test.each(["no-storage", "storage-readonly"] as const)(
    "%s is told at once, and not asked again",
    async (code) => {
      const on = lab();
      const before = on.world.now();
      const { appends, flow: refused } = refusing(on, "before", 99, code);
      expect(await failureOf(on.world.run(refused.run()))).toMatchObject({ code });
      expect([appends.refused, on.world.now()]).toEqual([1, before]);
    },
  );

  test("though it had landed is settled by reading", async () => {
    const on = lab();
    const { appends, flow: refused } = refusing(on, "after", 1);
    expect(await on.world.run(refused.run())).toMatchObject({ output: 1 });
    expect(appends.refused).toBe(1);
  });
});
