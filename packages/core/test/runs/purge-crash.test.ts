import { createApp, durable, type MemoryStorage, type Storage } from "@durable/core";
import { faultyStorage, type Fault, type Operation } from "@durable/testing";
import { expect, inject, test } from "vitest";
import { lab } from "../support/behaviour-lab.ts";

const day = 86_400_000;
const leaf = durable("leaf", (ctx) => ctx.step("work", () => "done"));
const root = durable("root", async (ctx) => {
  const found = [await ctx.child(leaf), await ctx.child(leaf)];
  return ctx.step("end", () => found);
});
const workflows = [root, leaf];

/** Three families, one of them with a fork that lives on. */
async function inhabited(together: boolean) {
  const on = lab();
  const memory = on.storage as MemoryStorage;
  const app = createApp({ ...on, workflows });
  for (const id of ["a", "b", "c"])
    await on.world.run(app.start("root", undefined, { id }).then((run) => run.result()));
  await on.world.advance(day);
  const fork = await on.world.run(root.with({ ...on }).fork("b", { from: "end", id: "fork" }));
  await on.world.run(fork.result());
  const storage: Storage = together
    ? memory
    : { ...bound(memory), list: (query) => memory.list(query), delete: (locator) => memory.delete(locator) };
  return { on, app, memory, storage };
}

function bound(memory: MemoryStorage): Storage {
  return {
    append: memory.append.bind(memory),
    read: memory.read.bind(memory),
    readChapter: memory.readChapter.bind(memory),
    list: memory.list.bind(memory),
    lease: memory.lease.bind(memory),
    release: memory.release.bind(memory),
    delete: memory.delete.bind(memory),
  };
}

const operations: readonly Operation[] = ["list", "read", "delete"];
const faults: readonly Fault[] = ["crash-before", "crash-after", "lose-reply", "lose-request"];

test.each([true, false])(
  "a purge that stops at any request is completed by the next one (deleted together: %s)",
  async (together) => {
    const points: [Operation, number][] = [];
    {
      const { on, storage } = await inhabited(together);
      const counting = faultyStorage(storage, { world: on.world });
      await on.world.run(createApp({ ...on, storage: counting, workflows }).purge({ olderThan: "1 hour" }));
      for (const operation of operations)
        for (let n = 1; n <= counting.counts[operation]; n++) points.push([operation, n]);
      expect(counting.counts.delete).toBe(together ? 1 : 9);
    }
    expect(points.length).toBeGreaterThan(5);
    // In the sample the faults take turns, beginning with another one in each test.
    const taken = (point: number, fault: number): boolean =>
      inject("full") || (point + fault + (together ? 2 : 0)) % faults.length === 0;
    for (const [at, [operation, n]] of points.entries())
      for (const fault of faults.filter((_, f) => taken(at, f))) {
        const where = `${operation} ${n}, ${fault}`;
        const { on, app, memory, storage } = await inhabited(together);
        const plan = (asked: Operation, index: number): Fault | null =>
          asked === operation && index === n ? fault : null;
        const broken = faultyStorage(storage, { world: on.world, plan });
        const purge = createApp({ ...on, storage: broken, workflows }).purge({ olderThan: "1 hour" });
        await on.world.run(Promise.race([purge.catch(() => {}), broken.died]));
        // What is left of a family has its parent, and the fork has what it reads.
        const left = (await memory.list()).runs;
        for (const { parent, runId } of left)
          if (parent !== null && runId !== "fork")
            expect(
              left.some((head) => head.runId === parent),
              `${where}: ${runId} is an orphan`,
            ).toBe(true);
        expect(await on.world.run(app.get("fork").outcome()), where).toMatchObject({ status: "completed" });
        const { runs } = await on.world.run(app.purge({ olderThan: "1 hour" }));
        expect(runs, where).toBeLessThanOrEqual(3);
        expect(
          (await memory.list()).runs.map(({ runId }) => runId),
          where,
        ).toEqual(["fork"]);
        const again = await on.world.run(root.with({ ...on }).fork("fork", { from: "end" }));
        expect(await on.world.run(again.result()), where).toEqual(["done", "done"]);
      }
  },
);
