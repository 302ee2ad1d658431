/** ctx.spawn: runs that outlive the run that starts them, and what happens to them when it ends. */

import {
  createApp,
  createWorker,
  durable,
  MemoryStorage,
  type AnyWorkflow,
  type DurableError,
} from "@durable/core";
import { crashEverywhere, faultyStorage, virtualWorld, type Fault } from "@durable/testing";
import { describe, expect, inject, test } from "vitest";
import { failureOf, kindsOf, lab, outputOf, pause, secret } from "../../support/behaviour-lab.ts";
import { locatorOf } from "../../../src/journal/keys.ts";
import { heads } from "../../support/worker-runs.ts";
import { Ran, standings } from "./support/child-family.ts";

/** Every fault in `npm run test:full`. */
const some = inject("full") ? {} : { faults: ["crash-after", "lose-reply"] as const };

describe("a spawned run", () => {
  test("is recorded, linked and driven to its own end", async () => {
    const base = lab();
    const kid = durable("kid", async (ctx, name: string) => {
      await ctx.sleep("3 days");
      return `hello ${name}`;
    });
    const flow = durable("parent", async (ctx) => ctx.spawn(kid, "ann"), { ...base });
    const outcome = await base.world.run(flow.run(undefined, { id: "r" }));
    const { runId } = outputOf(outcome) as { runId: string };
    expect(await kindsOf(flow.get("r"))).toEqual([
      "run.started",
      "spawn.opened kid",
      "spawn.started kid",
      "run.completed",
    ]);
    expect((await base.storage.list({ parent: "r" })).runs).toMatchObject([
      { runId, workflow: "kid", status: "suspended", parent: "r" },
    ]);
    const app = createApp({ ...base, workflows: [flow, kid], bind: false });
    expect(await base.world.run(app.get(runId).result())).toBe("hello ann");
    expect((await app.get(runId).entries())[0]).toMatchObject({
      kind: "run.started",
      spawnedBy: { runId: "r", key: "kid" },
    });
  });

  test("is not awaited: the parent may end first, also without an await", async () => {
    const base = lab();
    const kid = durable("kid", (ctx) => ctx.sleep("1 day"));
    const flow = durable("parent", async (ctx) => void ctx.spawn(kid), base);
    expect(await base.world.run(flow.run(undefined, { id: "r" }))).toMatchObject({ status: "completed" });
    await base.world.advance(2 * 86_400_000);
    const app = createApp({ ...base, workflows: [flow, kid], bind: false });
    await base.world.run(app.sweep());
    expect(Object.values(await standings(base.storage))).toEqual(["completed", "completed"]);
  });

  test("has the id and the name that are given to it", async () => {
    const base = lab();
    const kid = durable("kid", async () => 1);
    const flow = durable(
      "parent",
      async (ctx) => ctx.spawn(kid, undefined, { id: "mail-7", name: "mail" }),
      base,
    );
    expect(outputOf(await base.world.run(flow.run(undefined, { id: "r" })))).toEqual({ runId: "mail-7" });
    expect(await kindsOf(flow.get("r"))).toContain("spawn.started mail");
    // Another run of the same id, and another call of it, are refused.
    const second = await base.world.run(flow.run(undefined, { id: "r2" }));
    expect(second).toMatchObject({
      status: "failed",
      error: { code: "step-failed", cause: { code: "run-exists" } },
    });
  });

  describe("with an id that another run has", () => {
    const kid = durable("kid", (ctx, input: unknown) => ctx.suspend(`for ${String(input)}`));
    const other = durable("other", (ctx) => ctx.suspend("go"));
    const given = (flow: AnyWorkflow, input: unknown, ifExists?: "fail" | "keep") =>
      durable("parent", async (ctx) => {
        const options = { id: "taken", ifExists, onParentEnd: "cancel" } as const;
        const { runId } = await ctx.spawn(flow, input, options);
        await ctx.step("note", () => runId);
        return runId;
      });
    const begin = async (base: ReturnType<typeof lab>): Promise<void> => {
      const flow = kid.with(base);
      await base.world.run(flow.run(1, { id: "taken" }));
    };

    test.each([
      ["the same input", kid, 1, undefined],
      ["another input", kid, 2, undefined],
      ["another input, as it says", kid, 2, "fail"],
      ["another workflow", other, undefined, undefined],
      ["another workflow to keep", other, undefined, "keep"],
    ] as const)("fails with run-exists: %s", async (_, flow, input, ifExists) => {
      const base = lab();
      await begin(base);
      const parent = given(flow, input, ifExists).with(base);
      expect(await base.world.run(parent.run(undefined, { id: "r" }))).toMatchObject({
        status: "failed",
        error: { code: "step-failed", cause: { code: "run-exists" } },
      });
      expect(await standings(base.storage)).toEqual({ taken: "suspended", r: "failed" });
      expect(await base.storage.lease(locatorOf("taken"), "me", 1_000), "it is free").not.toBeNull();
    });

    test.each([1, 2])("`keep` returns that run, and does not end it (input %i)", async (input) => {
      const base = lab();
      await begin(base);
      const before = (await kid.with(base).get("taken").entries()).length;
      const parent = given(kid, input, "keep").with(base);
      expect(outputOf(await base.world.run(parent.run(undefined, { id: "r" })))).toBe("taken");
      expect(await kindsOf(parent.get("r"))).toContain("spawn.started kid");
      expect(await standings(base.storage)).toEqual({ taken: "suspended", r: "completed" });
      expect((await kid.with(base).get("taken").entries()).length).toBe(before);
    });

    test("`keep` starts the run where there is none, and a crash does not make it another's", async () => {
      const report = await crashEverywhere(given(kid, 1, "keep"), some);
      expect(report.totals.wrong).toBe(0);
    });
  });

  test("with an input that its schema refuses fails the call, which may be caught", async () => {
    const base = lab();
    const schema = {
      "~standard": { version: 1, vendor: "t", validate: () => ({ issues: [{ message: "no" }] }) },
    } as const;
    const kid = durable("kid", async () => 1, { input: schema });
    const flow = durable(
      "parent",
      (ctx) =>
        ctx
          .spawn(kid, {})
          .catch((error: { code: string; cause: { code: string } }) => [error.code, error.cause.code]),
      base,
    );
    expect(outputOf(await base.world.run(flow.run(undefined, { id: "r" })))).toEqual([
      "step-failed",
      "invalid-input",
    ]);
    expect(Object.keys(await standings(base.storage))).toEqual(["r"]);
  });

  test.each([{ onParentEnd: "stay" }, { ifExists: "maybe" }, { id: "no/slash" }, { tag: 1 }])(
    "refuses %o",
    async (options) => {
      const base = lab();
      const kid = durable("kid", async () => 1);
      const flow = durable("parent", (ctx) => ctx.spawn(kid, undefined, options as never), base);
      const { error } = (await base.world.run(flow.run())) as unknown as { error: DurableError };
      const { code } = (error.cause ?? error) as DurableError;
      expect(code).toMatch(/^invalid-(options|id)$/);
    },
  );

  test("of a worker is left to the fleet, and takes a place there", async () => {
    const base = lab();
    const ran: string[] = [];
    const kid = durable("kid", (ctx) => ctx.step("work", () => void ran.push(ctx.runId)));
    const flow = durable("parent", async (ctx) => {
      for (let n = 0; n < 5; n++) await ctx.spawn(kid);
    });
    const app = createApp({ ...base, workflows: [flow, kid] });
    const worker = createWorker(app, { concurrency: 1 });
    await app.start("parent", undefined, { id: "r", drive: false });
    await base.world.advance(30_000);
    await base.world.run(worker.stop());
    expect(new Set(ran).size).toBe(5);
    expect(ran).toHaveLength(5);
    expect(new Set(Object.values(await standings(base.storage)))).toEqual(new Set(["completed"]));
  });

  test("keeps its link over chapters, and a fork spawns its own", async () => {
    const base = lab();
    const kid = durable("kid", async (ctx, round: number): Promise<unknown> =>
      round < 2 ? ctx.continueAs(round + 1) : round,
    );
    const flow = durable(
      "parent",
      async (ctx) => {
        const { runId } = await ctx.spawn(kid, 1);
        return ctx.step("note", () => runId);
      },
      base,
    );
    const id = outputOf(await base.world.run(flow.run(undefined, { id: "r" })));
    await base.world.advance(1_000);
    expect((await base.storage.list({ parent: "r" })).runs).toMatchObject([
      { runId: id, chapter: 1, parent: "r" },
    ]);
    const kept = await flow.fork("r", { from: "note", id: "kept" });
    expect(await base.world.run(kept.result())).toBe(id);
    const anew = await flow.fork("r", { from: "kid", id: "anew" });
    expect(await base.world.run(anew.result())).not.toBe(id);
    expect((await base.storage.list({ workflow: "kid" })).runs).toHaveLength(2);
    await expect(flow.fork("r", { edit: { kid: 1 } })).rejects.toMatchObject({ code: "unknown-step" });
  });
});

describe("when its parent ends", () => {
  const family = (policy: "leave" | "cancel", end: "returns" | "throws" | "waits") => {
    const base = lab();
    const kid = durable("kid", (ctx) => ctx.suspend("ever"));
    const flow = durable("parent", async (ctx) => {
      await ctx.spawn(kid, undefined, { onParentEnd: policy, id: "kid" });
      if (end === "throws") throw new Error("no");
      if (end === "waits") await ctx.suspend("long");
    });
    const app = createApp({ ...base, workflows: [flow, kid] });
    const start = async (): Promise<void> => {
      await app.start("parent", undefined, { id: "r" });
      await base.world.advance(1_000);
    };
    return { ...base, app, start };
  };

  test.each([
    ["leave", "returns", "completed"],
    ["leave", "throws", "failed"],
    ["cancel", "returns", "completed"],
    ["cancel", "throws", "failed"],
  ] as const)("with %s, and the parent %s", async (policy, end, status) => {
    const { storage, start } = family(policy, end);
    await start();
    expect(await standings(storage)).toEqual({
      r: status,
      kid: policy === "leave" ? "suspended" : "cancelled",
    });
  });

  test.each(["leave", "cancel"] as const)(
    "with %s, and the parent is cancelled, then deleted",
    async (policy) => {
      const { storage, app, start, world } = family(policy, "waits");
      await start();
      expect(await standings(storage)).toEqual({ r: "suspended", kid: "suspended" });
      await world.run(app.cancel("r", { reason: "enough" }));
      const kid = policy === "leave" ? "suspended" : "cancelled";
      expect(await standings(storage)).toEqual({ r: "cancelled", kid });
      await world.run(app.delete("r"));
      expect(await standings(storage)).toEqual({ kid });
    },
  );

  test.each(["leave", "cancel"] as const)(
    "with %s, and the parent is deleted while it waits",
    async (policy) => {
      const { storage, app, start, world } = family(policy, "waits");
      await start();
      await world.run(app.delete("r"));
      expect(await standings(storage)).toEqual({ kid: policy === "leave" ? "suspended" : "cancelled" });
    },
  );

  test("those of earlier chapters end with it, too, and those of a fork's parent do not", async () => {
    const base = lab();
    const kid = durable("kid", (ctx) => ctx.suspend("ever"));
    const flow = durable(
      "parent",
      async (ctx, round: number): Promise<unknown> => {
        await ctx.spawn(kid, undefined, { onParentEnd: "cancel", id: `kid-${ctx.runId}-${round}` });
        return round < 3 ? ctx.continueAs(round + 1) : ctx.suspend("go");
      },
      base,
    );
    await flow.start(1, { id: "r" });
    await base.world.advance(1_000);
    const fork = await flow.fork("r", { edit: { go: 1 }, id: "f" });
    await base.world.run(fork.result());
    const open = { "kid-r-1": "suspended", "kid-r-2": "suspended", "kid-r-3": "suspended" };
    expect(await standings(base.storage)).toEqual({ r: "suspended", f: "completed", ...open });
    await base.world.run(flow.cancel("r"));
    expect(new Set(Object.values(await standings(base.storage)))).toEqual(
      new Set(["cancelled", "completed"]),
    );
  });

  test("a chapter does not end before a spawn is recorded", async () => {
    const base = lab();
    const kid = durable("kid", async () => 1);
    const flow = durable(
      "parent",
      async (ctx, round: number): Promise<unknown> => {
        void ctx.spawn(kid);
        return round < 2 ? ctx.continueAs(round + 1) : round;
      },
      base,
    );
    const outcome = await base.world.run(flow.run(1, { id: "r" }));
    expect(outcome).toMatchObject({ status: "failed", error: { code: "open-child" } });
  });
});

describe("under crashes", () => {
  test("crashEverywhere finds nothing", async () => {
    const kid = durable("kid", async () => 1);
    const flow = durable("parent", async (ctx) => {
      ctx.tag({ stage: "one" });
      await ctx.step("before", () => 1);
      const { runId } = await ctx.spawn(kid, undefined, { onParentEnd: "cancel" });
      ctx.tag({ stage: "two", spawned: runId });
      return [runId.length, await ctx.step("after", () => 2)];
    });
    const report = await crashEverywhere(flow, some);
    expect(report.totals.wrong).toBe(0);
  });

  const faults: readonly Fault[] = [
    "crash-before",
    "crash-after",
    "crash-then-apply",
    "lose-reply",
    "lose-request",
  ];
  const thinning = inject("full") ? 1 : 16;

  /** A fault at one operation of the first life, then lives without faults until nothing is open. */
  async function history(operation: "append" | "read" | "lease", index: number, fault: Fault | null) {
    const world = virtualWorld();
    const base = new MemoryStorage({ now: () => world.now() });
    const ran = new Ran();
    let counts: Readonly<Record<string, number>> = {};
    for (let lives = 1; lives <= 4; lives++) {
      const storage = faultyStorage(base, {
        world,
        plan: (one, n) => (lives === 1 && one === operation && n === index ? fault : null),
      });
      const kid = durable("kid", async (ctx, n: number) => {
        await ctx.sleep("10s");
        return ctx.step("work", ran.work(ctx, n));
      });
      const flow = durable("parent", async (ctx) => {
        const made = await ctx.parallel([
          (c) => c.spawn(kid, 1),
          (c) => c.spawn(kid, 2, { onParentEnd: "cancel" }),
        ]);
        await ctx.sleep("150s");
        return made.map(({ runId }) => runId);
      });
      const app = createApp({ storage, world, secret, workflows: [flow, kid], patience: 0 });
      const living = (async () => {
        for (let rounds = 0; rounds < 40; rounds++) {
          await app.start("parent", undefined, { id: "r" }).catch(() => null);
          await app.sweep().catch(() => null);
          await pause(world, 5_000);
          const all = await heads(base);
          if (all.length > 0 && all.every(({ wakeAt }) => wakeAt === null)) return true;
        }
        throw new Error("Not over.");
      })();
      const end = await world.run(Promise.race([living, storage.died.then(() => null)]));
      if (lives === 1) counts = { ...storage.counts };
      await world.advance(60_000);
      if (end === true) return { storage: base, ran, counts };
    }
    throw new Error("Not over after 4 lives.");
  }

  test.each(faults)("each run is spawned once, and ends by itself: %s", async (fault) => {
    const { counts } = await history("append", 0, null);
    for (const operation of ["append", "read", "lease"] as const)
      for (let index = 1; index <= (counts[operation] ?? 0); index += thinning) {
        const { storage, ran } = await history(operation, index, fault);
        const where = `${operation} ${index}`;
        const all = await heads(storage);
        expect(all.map(({ workflow, status }) => `${workflow} ${status}`).toSorted(), where).toEqual([
          "kid completed",
          "kid completed",
          "parent completed",
        ]);
        expect(new Set(ran.bodies).size, where).toBe(2);
      }
  });
});

test("a spawned run that another run has the id of does not end it", async () => {
  const base = lab();
  const other = durable("other", (ctx) => ctx.suspend("ever"), base);
  await other.start(undefined, { id: "taken" });
  const kid = durable("kid", async () => 1);
  const flow = durable(
    "parent",
    (ctx) => ctx.spawn(kid, undefined, { id: "taken", onParentEnd: "cancel" }),
    base,
  );
  const error = await failureOf(
    flow.start(undefined, { id: "r" }).then((run) => base.world.run(run.result())),
  );
  expect(error).toMatchObject({ code: "step-failed", cause: { code: "run-exists" } });
  await base.world.advance(1_000);
  expect(await standings(base.storage)).toEqual({ taken: "suspended", r: "failed" });
});
