import { createApp, createWorker, durable, type Storage } from "@durable/core";
import { faultyStorage, type Operation } from "@durable/testing";
import { expect, test } from "vitest";
import { lab, outputOf, type Lab } from "../support/behaviour-lab.ts";
import { record } from "../support/worker-runs.ts";

const work = durable("work", (ctx) => ctx.step("work", () => ctx.runId));

test("an advance takes the lease before it reads the journal", async () => {
  const on = lab();
  await record(on, "r", { workflow: "work" });
  const calls: Operation[] = [];
  const storage = faultyStorage(on.storage, {
    world: on.world,
    plan: (operation) => {
      calls.push(operation);
      return null;
    },
  });
  const app = createApp({ ...on, storage, workflows: [work] });
  expect(outputOf(await on.world.run(app.advance("r")))).toBe("r");
  expect(calls).toEqual(["lease", "read", "append", "append"]);
});

/** A process over a storage in which to read one of the journals is the end of it. */
function deadlyTo(on: Lab, locator: string) {
  const reads = { deadly: 0 };
  const { storage: inner } = on;
  const life = (): Storage => {
    let dead = false;
    const faulty = faultyStorage(inner, { world: on.world, plan: () => (dead ? "crash-before" : null) });
    const dying =
      <R>(read: (asked: string, from?: number) => Promise<R>) =>
      (asked: string, from?: number): Promise<R> => {
        if (asked === locator && !dead) reads.deadly += 1;
        dead ||= asked === locator;
        return read(asked, from);
      };
    const readChapter = faulty.readChapter?.bind(faulty);
    return {
      ...faulty,
      read: dying((asked, from) => faulty.read(asked, from)),
      ...(readChapter && { readChapter: dying((asked) => readChapter(asked)) }),
    };
  };
  return { reads, life };
}

test("a journal that kills the process that reads it is poison after its starts, and others complete", async () => {
  const on = lab();
  const locator = await record(on, "deadly", { workflow: "work" });
  await record(on, "fine", { workflow: "work" });
  const { reads, life } = deadlyTo(on, locator);
  const maxStarts = 5;
  for (let lives = 0; lives < maxStarts + 3; lives++) {
    createWorker(createApp({ ...on, storage: life(), workflows: [work] }), { maxStarts, interval: 5_000 });
    await on.world.advance(60_000);
  }
  const { runs } = await on.storage.list();
  expect(runs.map(({ runId, status, blocked }) => [runId, blocked?.code ?? status])).toEqual([
    ["fine", "completed"],
    ["deadly", "poison"],
  ]);
  expect(reads.deadly).toBe(maxStarts);
});
