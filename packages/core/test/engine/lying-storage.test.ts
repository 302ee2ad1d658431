import { createApp, durable, type Outcome, type Storage } from "@durable/core";
import { describe, expect, test } from "vitest";
import { failureOf, lab, outputOf, pause, tokenOf, type Lab } from "../support/behaviour-lab.ts";
import { batchesOf, runOf } from "../support/behaviour-lives.ts";
import { forgetful, prefixOnly } from "./support/forgetful.ts";
import { open } from "../support/worker-lab.ts";
import { record } from "../support/worker-runs.ts";

/** Four quick steps, a long one and a wait; `ran` has every body that was begun. */
function longFlow(on: Lab, longMs: number) {
  const ran: string[] = [];
  const flow = durable("long", async (ctx) => {
    const step = (name: string, ms: number): Promise<string> =>
      ctx.step(name, async () => {
        ran.push(name);
        await pause(on.world, ms);
        return name;
      });
    for (const name of ["a", "b", "c", "d"]) await step(name, 10);
    await step("long", longMs);
    return ctx.suspend<string>("ok");
  });
  return { flow, ran };
}

describe("H19 a read that gives only the beginning of a journal", () => {
  test("and says how much there is: refused, with nothing run and nothing written", async () => {
    const on = lab();
    const { flow, ran } = longFlow(on, 10);
    const token = tokenOf(await runOf(on, flow));
    const whole = await batchesOf(on);
    ran.length = 0;
    for (let count = 0; count < whole.length; count++) {
      const storage = prefixOnly(on.storage, count, "honest");
      const app = createApp({ workflows: [flow], ...on, storage });
      const asked: (() => Promise<unknown>)[] = [
        () => app.advance("r"),
        () => app.get("r").outcome(),
        () => app.resume(token, "yes"),
        () => app.resume(token, "yes", { drive: false }),
        () => app.cancel("r"),
        () => app.get("r").fork({ from: "a", id: `fork-${count}` }),
      ];
      for (const ask of asked) {
        const error = await failureOf(on.world.run(ask()));
        expect(error).toMatchObject({ code: "storage-failed" });
        expect((error as Error).message).toContain(
          `The storage returned ${count} of the ${whole.length} batches`,
        );
      }
    }
    expect(ran).toEqual([]);
    expect(await batchesOf(on)).toEqual(whole);
    expect((await on.storage.list()).runs).toHaveLength(1);
  });

  test("of an ancestor: the fork is not replayed from it", async () => {
    const on = lab();
    const { flow, ran } = longFlow(on, 10);
    await runOf(on, flow);
    const fork = await on.world.run(flow.with({ ...on }).fork("r", { from: "long", id: "f" }));
    await on.world.run(fork.outcome());
    await on.world.advance(1_000);
    const before = await batchesOf(on, "f");
    ran.length = 0;
    const storage = prefixOnly(on.storage, 3, "honest");
    const app = createApp({ workflows: [flow], ...on, storage });
    expect(await failureOf(on.world.run(app.advance("f")))).toMatchObject({ code: "storage-failed" });
    expect(ran).toEqual([]);
    expect(await batchesOf(on, "f")).toEqual(before);
  });

  test("from a copy that lags: the lease knows the length, and the driver reads on", async () => {
    const on = lab();
    const { flow, ran } = longFlow(on, 10);
    await runOf(on, flow);
    ran.length = 0;
    const stale = prefixOnly(on.storage, 3, "stale");
    let reads = 0;
    const storage: Storage = {
      ...stale,
      read: (locator, from) => (++reads === 1 ? stale : on.storage).read(locator, from),
    };
    const outcome = await on.world.run(createApp({ workflows: [flow], ...on, storage }).advance("r"));
    expect(outcome).toMatchObject({ status: "suspended", waiting: [{ key: "ok" }] });
    expect({ reads, ran }).toEqual({ reads: 2, ran: [] });
  });

  test("H19 from a copy that goes on lagging: no body begins", async () => {
    const on = lab();
    const { flow, ran } = longFlow(on, 10);
    await runOf(on, flow);
    const whole = await batchesOf(on);
    ran.length = 0;
    const storage = prefixOnly(on.storage, 3, "stale");
    const advanced = createApp({ workflows: [flow], ...on, storage }).advance("r");
    expect(await failureOf(on.world.run(advanced))).toMatchObject({ code: "storage-failed" });
    expect(await batchesOf(on)).toEqual(whole);
    expect(ran).toEqual([]);
  });
});

/** How a driver that is in the middle of its long step comes to notice. */
const notices: Record<string, number> = {
  "when it looks for answers": 4_000,
  "when it renews its lease": 60_000,
  "when it writes the next result": 30,
};

describe.each([1, 2, 3])("H20 a storage that acknowledged and forgot the last %i batches", (forgotten) => {
  test.each(Object.entries(notices))(
    "a live driver notices %s, records it and goes on from what is left",
    async (how, longMs) => {
      const on = lab();
      const { flow, ran } = longFlow(on, longMs);
      const storage = forgetful(on);
      // A driver with notifications reads only after a notification.
      const told = how.includes("renews")
        ? { ...storage, changed: () => new Promise<void>(() => {}) }
        : storage;
      const driving = flow.with({ ...on, storage: told }).run(undefined, { id: "r" });
      await on.world.advance(50);
      const all = ["a", "b", "c", "d", "long"];
      expect(ran).toEqual(all);
      await storage.forget(forgotten);
      const kept = await batchesOf({ ...on, storage });
      const outcome: Outcome<unknown> = await on.world.run(driving);
      expect(outcome).toMatchObject({ status: "suspended", waiting: [{ key: "ok" }] });
      expect(ran, "what was lost runs again, and what was never recorded").toEqual([
        ...all,
        ...all.slice(4 - forgotten),
      ]);
      const whole = await batchesOf({ ...on, storage });
      expect(whole.slice(0, kept.length), "what was left is unchanged").toEqual(kept);
      expect(JSON.parse(whole[kept.length] ?? "")).toMatchObject({
        entries: [{ kind: "run.regressed", from: 5, to: kept.length, steps: [] }],
      });
    },
  );
});

test("H20 a worker says so, and goes on with the run", async () => {
  const on = lab();
  const { flow, ran } = longFlow(on, 10_000);
  const storage = forgetful(on);
  await record({ ...on, storage }, "r", { workflow: "long" });
  const { heard, until } = open({ ...on, storage }, [flow]);
  await on.world.advance(1_000);
  await storage.forget(1);
  await until(1);
  expect(heard).toMatchObject([{ runId: "r", status: "suspended" }]);
  expect(on.world.warnings).toEqual([expect.stringMatching(/^run r goes on from 4 of 5 batches/)]);
  expect(ran).toEqual(["a", "b", "c", "d", "long", "d", "long"]);
});

test("H20 an answer to a run whose journal was cut shorter meanwhile finds its wait, or is kept for it", async () => {
  const on = lab();
  const { flow } = longFlow(on, 10);
  const storage = forgetful(on);
  const token = tokenOf(await on.world.run(flow.with({ ...on, storage }).run(undefined, { id: "r" })));
  await storage.forget(2);
  const app = createApp({ workflows: [flow], ...on, storage });
  expect((await app.resume(token, "yes", { drive: false })).status).toBe("accepted");
  expect(outputOf(await on.world.run(app.advance("r")))).toBe("yes");
});
