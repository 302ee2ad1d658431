/** What passes between a child and its parent when something comes between them. */

import { createApp, durable, type Context, type RunHead, type Storage } from "@durable/core";
import type { AppendRequest } from "@durable/core/storage";
import { faultyStorage, type Fault } from "@durable/testing";
import { describe, expect, test } from "vitest";
import {
  hooked,
  kindsOf,
  lab,
  nonceLab,
  outputOf,
  pause,
  tokenOf,
  type Lab,
} from "../../support/behaviour-lab.ts";
import { freezable, runOf } from "../../support/behaviour-lives.ts";
import { childOf, childrenOf, Ran, standings } from "./support/child-family.ts";
import { open } from "../../support/worker-lab.ts";

/** The kinds an append is about to write. */
const kindsIn = ({ batch }: AppendRequest): string[] =>
  (JSON.parse(batch) as { entries: { kind: string }[] }).entries.map(({ kind }) => kind);

/** A storage with a fault at the append that writes a certain kind into a certain run. */
function hurtAt(on: Lab, { kind, runId, fault }: { kind: string; runId: string; fault: Fault }) {
  let hit = false;
  let next = false;
  const faulty = faultyStorage(on.storage, {
    world: on.world,
    plan: (operation) => {
      const now = operation === "append" && next;
      next = false;
      return now ? fault : null;
    },
  });
  const storage: Storage = {
    ...faulty,
    append: (request) => {
      next = !hit && request.head.runId === runId && kindsIn(request).includes(kind);
      hit ||= next;
      return faulty.append(request);
    },
  };
  return { storage, died: faulty.died, wasHit: () => hit };
}

const day = 86_400_000;

describe("a report of a child of another life", () => {
  test("a run was deleted and its id is used again: a child that the old one left reports to no one", async () => {
    const on = nonceLab();
    const kid = durable("kid", (ctx) => ctx.suspend<string>("n"));
    const flow = durable("parent", (ctx) =>
      ctx.parallel([(c) => c.child(kid), (c) => c.step("slow", () => pause(on.world, 60_000))]),
    );
    const app = createApp({ ...on, workflows: [flow, kid] });
    const begin = async (): Promise<RunHead> => {
      void app.start("parent", undefined, { id: "r" });
      await on.world.advance(1_000);
      const children = await childrenOf(on.storage, "r");
      return children.at(-1)!;
    };
    const old = await begin();
    const { locator } = (await on.storage.list({ workflow: "parent" })).runs[0]!;
    await on.storage.delete(locator);
    await on.world.advance(120_000);
    const young = await begin();
    expect(young.runId).not.toBe(old.runId);
    const tokens = await Promise.all([old, young].map(({ runId }) => app.get(runId).outcome()));
    for (const [i, answer] of ["old", "young"].entries())
      await on.world.run(app.resume(tokenOf(tokens[i]!), answer));
    await on.world.advance(120_000);
    expect(outputOf(await app.get("r").outcome())).toEqual(["young", undefined]);
  });
});

describe("two reports of one end", () => {
  test("a child that ends and is cancelled while its parent is being written has one end", async () => {
    const on = lab();
    const slow: Storage = {
      ...hooked(on.storage, () => undefined),
      append: async (request) => {
        if (request.head.runId === "r" && kindsIn(request).includes("step.completed"))
          await pause(on.world, 5_000);
        return on.storage.append(request);
      },
    };
    const kid = durable("kid", (ctx) => ctx.step("file", () => pause(on.world, 500)));
    const flow = durable("parent", async (ctx) => {
      await ctx.suspend("go");
      await ctx.parallel([(c) => c.child(kid), (c) => c.step("slow", () => pause(on.world, 100))]);
    });
    const token = tokenOf(await runOf(on, flow));
    const app = createApp({ ...on, storage: slow, workflows: [flow, kid] });
    const driven = app.resume(token, null);
    await on.world.advance(1_000);
    const { runId } = await childOf(on);
    await on.world.run(Promise.all([driven, app.cancel(runId)]));
    const ends = (await kindsOf(app.get("r"))).filter((line) => /^child\.(completed|failed)/.test(line));
    expect(ends).toHaveLength(1);
  });
});

describe("an end whose report is lost", () => {
  const moments = [
    ["the parent", "child.completed"],
    ["the child", "run.completed"],
  ] as const;
  const faults = [
    "crash-before",
    "crash-after",
    "crash-then-apply",
    "lose-reply",
    "lose-request",
    "conflict",
  ] as const;
  const cases = moments.flatMap(([whose, kind]) => faults.map((fault) => [fault, whose, kind] as const));

  test.each(cases)(
    "%s when the end is written to %s: reported once, and the parent continues",
    async (fault, whose, kind) => {
      const on = lab();
      const ran = new Ran();
      const kid = durable(
        "kid",
        async (ctx) => `${await ctx.suspend<string>("n")} ${await ctx.step("last", ran.work(ctx, 1))}`,
      );
      const flow = durable("parent", async (ctx) => `got ${await ctx.child(kid)}`);
      const token = tokenOf(await runOf(on, flow));
      const child = await childOf(on);
      const hurt = hurtAt(on, { kind, runId: whose === "the child" ? child.runId : "r", fault });
      // The child's end is driven where the parent's code is not, so that only the telling can move the parent.
      const there = kid.with({ ...on, storage: hurt.storage });
      await on.world.run(Promise.race([there.resume(token, "ok").catch(() => null), hurt.died]));
      expect(hurt.wasHit()).toBe(true);
      await on.world.advance(60_000);
      const app = createApp({ ...on, workflows: [flow, kid] });
      for (let sweeps = 0; sweeps < 2; sweeps++) await on.world.run(app.sweep());
      expect(outputOf(await app.get("r").outcome())).toBe("got ok 1");
      expect(await standings(on.storage)).toEqual({ r: "completed", [child.runId]: "completed" });
      expect(ran.bodies).toHaveLength(1);
      const told = (await kindsOf(app.get("r"))).filter((line) => line === "child.completed kid");
      expect(told).toHaveLength(1);
    },
  );

  test("a child that ended and never reported is checked: after ten minutes, then at growing intervals", async () => {
    const on = lab();
    const kid = durable("kid", (ctx) => ctx.suspend<string>("n"));
    const flow = durable("parent", async (ctx) => `got ${await ctx.child(kid)}`);
    const token = tokenOf(await runOf(on, flow));
    const app = createApp({ ...on, workflows: [flow] });
    const looks: number[] = [];
    const begun = on.world.now();
    for (let minutes = 0; minutes < 300; minutes += 5) {
      await on.world.advance(300_000);
      if ((await on.world.run(app.sweep())).outcomes.length > 0)
        looks.push(Math.round((on.world.now() - begun) / 60_000));
    }
    expect(looks).toEqual([10, 20, 40, 80, 160]);
    // A storage that loses the telling alone: the child ends, its parent hears nothing.
    const mute: Storage = Object.assign(
      hooked(on.storage, () => {}),
      {
        append: (request: AppendRequest) =>
          kindsIn(request).includes("child.completed") ? Promise.resolve() : on.storage.append(request),
      },
    );
    await on.world.run(kid.with({ ...on, storage: mute }).resume(token, "ok"));
    expect(await childOf(on)).toMatchObject({ status: "completed" });
    expect(await app.get("r").outcome()).toMatchObject({ status: "suspended" });
    await on.world.advance(160 * 60_000);
    await on.world.run(app.sweep());
    expect(outputOf(await app.get("r").outcome())).toBe("got ok");
  });

  test("H28 a storage that dies between the child's end and the wake of its parent: a sweep finds the parent", async () => {
    const on = lab();
    const kid = durable("kid", (ctx) => ctx.suspend<string>("n"));
    const flow = durable("parent", async (ctx) => `got ${await ctx.child(kid)}`);
    const token = tokenOf(await runOf(on, flow));
    const child = await childOf(on);
    const hurt = hurtAt(on, { kind: "run.completed", runId: child.runId, fault: "crash-after" });
    const app = createApp({ ...on, storage: hurt.storage, workflows: [flow, kid] });
    await on.world.run(Promise.race([app.resume(token, "ok"), hurt.died]));
    expect(await standings(on.storage)).toEqual({ r: "running", [child.runId]: "completed" });
    const { outcomes } = await on.world.run(createApp({ ...on, workflows: [flow] }).sweep());
    expect(outcomes.map(outputOf)).toEqual(["got ok"]);
  });
});

describe("a parent that changes hands", () => {
  test("H21 its driver dies while its child is driven elsewhere: the child's body is not begun again", async () => {
    const on = lab();
    const bodies: string[] = [];
    const work = (name: string, ms: number) => async () => {
      bodies.push(name);
      await pause(on.world, ms);
      return name;
    };
    const kid = durable("kid", async (ctx) => {
      await ctx.suspend("go");
      return ctx.step("long", work("long", 600_000));
    });
    const flow = durable("parent", (ctx) =>
      ctx.parallel([(c) => c.child(kid), (c) => c.step("beside", work("beside", 100_000))]),
    );
    const first = freezable(on.world);
    void flow.with({ ...on, world: first.world }).run(undefined, { id: "r" });
    await on.world.advance(1_000);
    const { runId } = await childOf(on);
    const elsewhere = kid.with({ ...on });
    const driven = elsewhere.resume(tokenOf(await elsewhere.get(runId).outcome()), null);
    await on.world.advance(1_000);
    // The parent's driver is never heard of again.
    first.freeze();
    await on.world.advance(60_000);
    const app = createApp({ ...on, workflows: [flow, kid] });
    const taken = await on.world.run(app.advance("r"));
    expect(taken).toMatchObject({ status: "suspended", waiting: [], wakeAt: null });
    expect((await on.world.run(driven)).outcome).toMatchObject({ status: "completed" });
    expect(outputOf(await on.world.run(app.advance("r")))).toEqual(["long", "beside"]);
    expect(bodies.toSorted()).toEqual(["beside", "beside", "long"]);
  });

  test("H61 its child's driver dies elsewhere: a worker that has the parent alone is there soon after the lease", async () => {
    const on = lab();
    let bodies = 0;
    const kid = durable("kid", async (ctx) => {
      await ctx.suspend("go");
      return ctx.step("long", () => ((bodies += 1) === 1 ? new Promise<string>(() => {}) : "done"));
    });
    const flow = durable("parent", (ctx) => ctx.child(kid));
    const token = tokenOf(await runOf(on, flow));
    const dead = freezable(on.world);
    void kid.with({ ...on, world: dead.world }).resume(token, null);
    await on.world.advance(1_000);
    expect(bodies).toBe(1);
    dead.freeze();
    // It is requested once while the lease of the dead driver is valid, as by a caller that waits for it.
    await runOf(on, flow);
    open(on, [flow]);
    const at = on.world.now();
    while (
      (
        await flow
          .with({ ...on })
          .get("r")
          .outcome()
      ).status !== "completed"
    )
      await on.world.advance(1_000);
    expect(on.world.now() - at).toBeLessThan(120_000);
    expect(bodies).toBe(2);
  });

  test("H21 its driver freezes with the child it drives: one of two drivers tells, and each end is recorded once", async () => {
    const on = lab();
    let bodies = 0;
    const kid = durable("kid", (ctx) =>
      ctx.step("long", async () => {
        bodies += 1;
        await pause(on.world, 300_000);
        return "slow";
      }),
    );
    const flow = durable("parent", async (ctx) => {
      const output = await ctx.child(kid);
      return ctx.step("after", () => `got ${output}`);
    });
    const first = freezable(on.world);
    const frozen = flow.with({ ...on, world: first.world }).run(undefined, { id: "r" });
    await on.world.advance(1_000);
    const child = await childOf(on);
    first.freeze();
    await on.world.advance(60_000);
    // Both leases have run out: this one takes the parent, and the child with it.
    const app = createApp({ ...on, workflows: [flow, kid] });
    const taken = app.advance("r");
    await on.world.advance(10_000);
    first.thaw();
    expect(outputOf(await on.world.run(taken))).toBe("got slow");
    await on.world.run(frozen);
    expect(await standings(on.storage)).toEqual({ r: "completed", [child.runId]: "completed" });
    expect(bodies).toBe(2);
    const kinds = [...(await kindsOf(app.get("r"))), ...(await kindsOf(app.get(child.runId)))];
    for (const line of [
      "child.opened kid",
      "child.completed kid",
      "step.completed long",
      "step.completed after",
    ])
      expect(kinds.filter((one) => one === line)).toEqual([line]);
  });
});

describe("a child that cannot go on", () => {
  const kid = (body: (ctx: Context) => Promise<string>) => durable("kid", body);
  const asks = kid((ctx) => ctx.suspend<string>("n"));
  const changed = kid((ctx) => ctx.step("n", () => "no wait any more"));
  const parentOf = (child: typeof asks) => durable("parent", async (ctx) => `got ${await ctx.child(child)}`);

  test("is blocked by changed code: its parent waits, and goes on when the code is right again", async () => {
    const on = lab();
    const token = tokenOf(await runOf(on, parentOf(asks)));
    const outcome = await runOf(on, parentOf(changed));
    expect(outcome).toMatchObject({ status: "suspended", waiting: [{ key: "kid/n", token }] });
    const wrong = createApp({ ...on, workflows: [parentOf(changed), changed] });
    await on.world.advance(day);
    await on.world.run(wrong.sweep());
    expect(await wrong.get("r").outcome()).toMatchObject({ status: "suspended" });
    expect(await on.world.run(wrong.advance((await childOf(on)).runId))).toMatchObject({
      status: "blocked",
      error: { code: "diverged" },
    });
    const right = createApp({ ...on, workflows: [parentOf(asks), asks] });
    await on.world.run(right.resume(token, "ok"));
    await on.world.advance(1_000);
    expect(outputOf(await right.get("r").outcome())).toBe("got ok");
  });

  test("is blocked with an answer in it: once its code is back, running the parent drives it on", async () => {
    const on = lab();
    const token = tokenOf(await runOf(on, parentOf(asks)));
    await createApp({ ...on, workflows: [] }).resume(token, "ok", { drive: false });
    expect(await runOf(on, parentOf(changed))).toMatchObject({ status: "suspended", waiting: [] });
    await on.world.advance(120_000);
    expect(outputOf(await runOf(on, parentOf(asks)))).toBe("got ok");
  });

  test("was deleted, and a fork still reads it: the call fails, and the parent does not wait for ever", async () => {
    const on = lab();
    const step = durable(
      "kid",
      async (ctx) => `${await ctx.step("s", () => 1)} ${await ctx.suspend<string>("n")}`,
    );
    const flow = durable("parent", (ctx) =>
      ctx
        .child(step)
        .catch(({ code, cause }: Error & { code: string }) => [code, (cause as { code: string }).code]),
    );
    await runOf(on, flow);
    const { runId } = await childOf(on);
    const app = createApp({ ...on, workflows: [flow, step] });
    await on.world.run(step.with({ ...on }).fork(runId, { from: "s", id: "f" }));
    await on.world.advance(1_000);
    await app.delete(runId);
    await on.world.advance(600_000);
    await on.world.run(app.sweep());
    expect(outputOf(await app.get("r").outcome())).toEqual(["step-failed", "not-found"]);
  });
});
