import { createApp, durable } from "@durable/core";
import type { Fault, VirtualWorld } from "@durable/testing";
import { describe, expect, inject, test } from "vitest";
import { outputOf, pause, secret } from "../../support/behaviour-lab.ts";
import { Ran, standings } from "./support/child-family.ts";
import { familyHistory, settledTwice, type Family } from "./support/child-lives.ts";

/** A child with a step, a sleep and a wait, and a child of its own; beside it steps, and a race that a child loses. */
function family(ran: Ran, knows: Family["knows"]): Family {
  const workflows = (world: VirtualWorld) => {
    const toy = durable("toy", async (ctx) => {
      const made = await ctx.step("make", ran.work(ctx, "made"));
      return `${made} ${await ctx.suspend<string>("colour")}`;
    });
    const kid = durable("kid", async (ctx, name: string) => {
      const first = await ctx.step("first", ran.work(ctx, name));
      await ctx.sleep("20s");
      const flaky = await ctx.step(
        "flaky",
        ({ attempt }) => (attempt === 1 ? Promise.reject(new Error("again")) : attempt),
        { retry: { delay: "5s", jitter: false } },
      );
      return [first, flaky, await ctx.child(toy), await ctx.step("last", ran.work(ctx, 1))];
    });
    const bad = durable("bad", (ctx) =>
      ctx.step("fail", () => Promise.reject(new Error("no")), { retry: false }),
    );
    const mute = durable("mute", (ctx) => ctx.suspend("unknown"));
    const parent = durable("parent", async (ctx) => {
      const beside = await ctx.parallel({
        kid: (c) => c.child(kid, "ann"),
        step: async (c) => {
          await c.step("work", () => pause(world, 30));
          return c.step("more", ran.work(ctx, 2));
        },
      });
      const code = await ctx.child(bad).catch((error: { code: string }) => error.code);
      const raced = await ctx.race({ slow: (c) => c.child(mute), quick: (c) => c.sleep("20s") });
      return [beside, code, raced.name, await ctx.step("end", ran.work(ctx, 3))];
    });
    return [parent, kid, toy, bad, mute];
  };
  return { workflows, answers: { colour: "red" }, knows };
}

/** Every so many I/O are hurt. */
const thinning = inject("full") ? 1 : 8;

const output = [{ kid: ["ann", 2, "made red", 1], step: 2 }, "step-failed", "quick", 3];
const faults: readonly Fault[] = [
  "crash-before",
  "crash-after",
  "crash-then-apply",
  "lose-reply",
  "lose-request",
];

describe.each(["all", "the parent"] as const)("every life knows %s", (knows) => {
  // What a life knows of the children matters when it takes over, so after a crash.
  test.each(knows === "all" ? faults : faults.filter((fault) => fault.startsWith("crash-")).slice(1))(
    "H10 %s at every I/O of parent and children: one output, one run for each child",
    async (fault) => {
      const calmRan = new Ran();
      const calm = await familyHistory(family(calmRan, knows), null);
      expect(outputOf(calm.end)).toEqual(output);
      const runs = await standings(calm.storage);
      expect(Object.values(runs).toSorted()).toEqual([
        "cancelled",
        "completed",
        "completed",
        "completed",
        "failed",
      ]);
      expect(calmRan.counts.every((count) => count === 1)).toBe(true);
      let cases = 0;
      for (const operation of ["append", "read", "lease", "release"] as const) {
        // Nearly all reads are alike: a sample of them.
        const stride = (operation === "append" ? 1 : 10) * thinning;
        for (let index = 1; index <= calm.counts[operation]; index += stride) {
          const ran = new Ran();
          const told = `${fault} at ${operation} ${index}`;
          const { end, world, storage } = await familyHistory(family(ran, knows), {
            operation,
            index,
            fault,
          });
          expect(outputOf(end), told).toEqual(output);
          // A child that reported its end and died is over once a process with its code advances it; nothing runs again.
          const bodies = ran.bodies.length;
          const workflows = family(ran, knows).workflows(world);
          await world.run(createApp({ storage, world, secret, workflows }).sweep());
          expect(await standings(storage), told).toEqual(runs);
          expect(ran.bodies.length, told).toBe(bodies);
          // One fault cuts off one body at the most; whatever was recorded is not done again.
          expect(ran.bodies.length - calmRan.bodies.length, told).toBeLessThanOrEqual(1);
          expect(new Set(ran.bodies), told).toEqual(new Set(calmRan.bodies));
          expect(await settledTwice(storage, world), told).toEqual([]);
          cases += 1;
        }
      }
      expect(cases).toBeGreaterThan(30 / thinning);
    },
  );
});
