import { createApp, durable, type Outcome, type ResumeResult } from "@durable/core";
import { describe, expect, inject, test } from "vitest";
import { z } from "zod";
import { failureOf, hooked, lab, outputOf, pause, tokenOf, type Lab } from "../../support/behaviour-lab.ts";
import { childOf, childrenOf, standings } from "./support/child-family.ts";
import { open } from "../../support/worker-lab.ts";

const Review = z.object({ ok: z.boolean() });
const toy = durable("toy", (ctx) => ctx.suspend<string>("colour", { note: "red or blue?" }));
const kid = durable("kid", async (ctx, name: string) => {
  const review = ctx.suspend("review", { schema: Review, note: name });
  const colour = await ctx.child(toy);
  return `${name} ${(await review).ok} ${colour}`;
});
const family = durable("family", async (ctx) => {
  const [first, second] = await ctx.parallel([
    (c) => c.child(kid, "ann", { name: "ann" }),
    (c) => c.child(kid, "bob", { name: "bob" }),
  ]);
  return `${first}, ${second}`;
});

const keys = [
  "parallel[0]/ann/review",
  "parallel[0]/ann/toy/colour",
  "parallel[1]/bob/review",
  "parallel[1]/bob/toy/colour",
];
const answers: Record<string, unknown> = { review: { ok: true }, colour: "red" };
const done = "ann true red, bob true red";
const everyOrder = keys.flatMap((a) =>
  keys.filter((b) => b !== a).flatMap((b) => keys.filter((c) => c !== a && c !== b).map((c) => [a, b, c])),
);
/** A sample of them begins with every key. */
const orders = inject("full") ? everyOrder : everyOrder.filter((_, n) => n % 5 === 0);

/** Ways to an answer. Each is made anew for every call, as another process would. */
const ways: Record<string, (on: Lab, token: string, value: unknown) => Promise<ResumeResult>> = {
  "the parent flow": (on, token, value) => family.with({ ...on }).resume(token, value),
  "an app with all": (on, token, value) =>
    createApp({ ...on, workflows: [family, kid, toy] }).resume(token, value),
  "an app with the parent alone": (on, token, value) =>
    createApp({ ...on, workflows: [family] }).resume(token, value),
};

async function standing(on: Lab): Promise<Outcome<string>> {
  return family
    .with({ ...on })
    .get("r")
    .outcome();
}

async function settle(on: Lab): Promise<Outcome<string>> {
  await on.world.advance(1_000);
  return standing(on);
}

describe("the waits of children and grandchildren", () => {
  test("are waits of the parent, with key, note, schema and a token of their own", async () => {
    const on = lab();
    const outcome = await on.world.run(family.with({ ...on }).run(undefined, { id: "r" }));
    const { waiting, wakeAt } = outcome as Outcome<string> & { status: "suspended" };
    expect(waiting.map(({ key }) => key)).toEqual(keys);
    expect(waiting.map(({ name }) => name)).toEqual(["review", "colour", "review", "colour"]);
    expect(waiting[0]).toMatchObject({ note: "ann", schema: { properties: { ok: {} } }, expiresAt: null });
    expect(waiting[1]).toMatchObject({ note: "red or blue?" });
    expect(new Set(waiting.map(({ token }) => token)).size).toBe(4);
    expect(wakeAt).toBe(null);
    expect(await standing(on)).toEqual({ ...outcome, recorded: false });
    const error = await failureOf(
      on.world.run(
        family
          .with({ ...on })
          .get("r")
          .result(),
      ),
    );
    expect(error).toMatchObject({ code: "suspended", details: { waiting } });
    // The child shows its own, and those below it, under its own keys.
    const [ann] = await childrenOf(on.storage, "r");
    const own = await kid
      .with({ ...on })
      .get(ann!.runId)
      .outcome();
    expect(own.status === "suspended" && own.waiting.map(({ token }) => token)).toEqual(
      waiting.slice(0, 2).map(({ token }) => token),
    );
  });

  test.each(Object.entries(ways))(
    "answered through %s, in any order, each by another process: the parent goes on",
    async (_, answer) => {
      expect(everyOrder).toHaveLength(24);
      for (const order of orders) {
        const on = lab();
        await on.world.run(family.with({ ...on }).run(undefined, { id: "r" }));
        for (const key of [...order, ...keys.filter((one) => !order.includes(one))]) {
          const parked = await standing(on);
          const name = key.split("/").at(-1)!;
          const { status } = await on.world.run(answer(on, tokenOf(parked, key), answers[name]));
          expect(status, `${key} of ${order.join(" ")}`).toBe("accepted");
          await settle(on);
        }
        expect(outputOf(await standing(on)), order.join(" ")).toBe(done);
        const statuses = Object.values(await standings(on.storage));
        expect(statuses).toEqual(Array.from({ length: 5 }, () => "completed"));
      }
    },
  );

  test.each([1, 2])(
    "answered in %s processes by turns that keep parked runs in memory: each counts, the parent ends once",
    async (processes) => {
      for (const order of orders) {
        const on = lab();
        const apps = Array.from({ length: processes }, () =>
          createApp({ ...on, warm: 10, workflows: [family, kid, toy] }),
        );
        await on.world.run(apps[0]!.start("family", undefined, { id: "r" }));
        await on.world.advance(1_000);
        for (const [n, key] of [...order, ...keys.filter((one) => !order.includes(one))].entries()) {
          const app = apps[n % processes]!;
          const token = tokenOf(await app.get("r").outcome(), key);
          const { status } = await on.world.run(app.resume(token, answers[key.split("/").at(-1)!]));
          expect(status, `${key} of ${order.join(" ")}`).toBe("accepted");
          await on.world.advance(1_000);
        }
        expect(outputOf(await standing(on)), order.join(" ")).toBe(done);
        expect(on.world.warnings).toEqual([]);
      }
    },
  );

  test("answered through the child's flow: the parent is due, and goes on where its code is", async () => {
    const on = lab();
    const flow = durable("parent", async (ctx) => `got ${await ctx.child(toy)}`);
    const parked = await on.world.run(flow.with({ ...on }).run(undefined, { id: "r" }));
    const token = tokenOf(parked, "toy/colour");
    const resumed = await on.world.run(toy.with({ ...on }).resume(token, "red"));
    expect(resumed).toMatchObject({ status: "accepted", outcome: { status: "completed", output: "red" } });
    await on.world.advance(1_000);
    // No process here has the parent's code; the end of the child is in its journal.
    const app = createApp({ ...on, workflows: [flow] });
    expect(await app.get("r").outcome()).toMatchObject({ status: "running" });
    expect((await app.list({ dueAt: on.world.now() })).runs.map(({ runId }) => runId)).toEqual(["r"]);
    const { outcomes } = await on.world.run(app.sweep());
    expect(outcomes.map(outputOf)).toEqual(["got red"]);
    expect(await on.world.run(app.resume(token, "blue"))).toMatchObject({ status: "duplicate" });
  });

  test("all answered at one time: each counts once, the parent ends once", async () => {
    for (const ms of [0, 1, 7]) {
      const on = lab();
      await on.world.run(family.with({ ...on }).run(undefined, { id: "r" }));
      const parked = await standing(on);
      const storage = hooked(on.storage, () => pause(on.world, ms));
      const app = createApp({ ...on, storage, workflows: [family, kid, toy] });
      const sent = keys.flatMap((key) => {
        const value = answers[key.split("/").at(-1)!];
        return [app.resume(tokenOf(parked, key), value), app.resume(tokenOf(parked, key), value)];
      });
      const statuses = (await on.world.run(Promise.all(sent))).map(({ status }) => status);
      expect(statuses.toSorted()).toEqual([
        ...Array.from({ length: 4 }, () => "accepted"),
        ...Array.from({ length: 4 }, () => "duplicate"),
      ]);
      await on.world.advance(60_000);
      await on.world.run(app.sweep());
      expect(outputOf(await standing(on)), `with ${ms} ms`).toBe(done);
    }
  });

  test("an answer that does not fit leaves the child's wait open, and the right one still counts", async () => {
    const on = lab();
    await on.world.run(family.with({ ...on }).run(undefined, { id: "r" }));
    const token = tokenOf(await standing(on), keys[0]);
    const app = createApp({ ...on, workflows: [family, kid, toy] });
    expect(await on.world.run(app.resume(token, { ok: "yes" }))).toMatchObject({ status: "invalid" });
    const through = await on.world.run(family.with({ ...on }).resume(token, { ok: "yes" }));
    expect(through).toMatchObject({ status: "invalid", issues: expect.any(String) as string });
    expect(tokenOf(await settle(on), keys[0])).toBe(token);
    expect(await on.world.run(app.resume(token, { ok: true }))).toMatchObject({ status: "accepted" });
  });

  test.each([
    ["that has all, at once", [family, kid, toy], 0],
    ["that has the parent alone, when it looks after its children", [family], 600_000],
  ])(
    "H28 delivered without a notification, they are found by a sweep of an app %s",
    async (_, workflows, ms) => {
      const on = lab();
      await on.world.run(family.with({ ...on }).run(undefined, { id: "r" }));
      const parked = await standing(on);
      const door = createApp({ ...on, workflows: [] });
      for (const key of keys)
        await door.resume(tokenOf(parked, key), answers[key.split("/").at(-1)!], { drive: false });
      const app = createApp({ ...on, workflows });
      await on.world.advance(ms);
      for (let sweeps = 0; sweeps < 3; sweeps++) await on.world.run(app.sweep());
      expect(outputOf(await standing(on))).toBe(done);
    },
  );
});

describe("a child that sleeps longer than patience", () => {
  const sleeper = durable("sleeper", async (ctx) => {
    await ctx.sleep("3 days");
    return ctx.step("up", () => "up");
  });
  const flow = durable("parent", async (ctx) => `kid is ${await ctx.child(sleeper)}`);

  test("parks its parent with it, for the same time; a sweep then wakes both", async () => {
    const on = lab();
    const begun = on.world.now();
    const outcome = await on.world.run(flow.with({ ...on }).run(undefined, { id: "r" }));
    const wakeAt = begun + 3 * 86_400_000;
    expect(outcome).toMatchObject({ status: "suspended", waiting: [], wakeAt });
    expect(await childOf(on)).toMatchObject({ status: "suspended", wakeAt });
    const app = createApp({ ...on, workflows: [flow, sleeper] });
    await on.world.advance(86_400_000);
    // Looks after the child come ever more rarely, change nothing, and do not show.
    for (let day = 0; day < 30; day++) await on.world.run(app.sweep());
    expect(await app.get("r").outcome()).toMatchObject({ status: "suspended", wakeAt });
    await on.world.advance(2 * 86_400_000);
    for (let sweeps = 0; sweeps < 2; sweeps++) await on.world.run(app.sweep());
    expect(outputOf(await app.get("r").outcome())).toBe("kid is up");
  });

  test.each([
    ["one worker with both", [[flow, sleeper]]],
    ["a worker with the parent alone", [[flow]]],
    ["two workers, one for each", [[flow], [sleeper]]],
  ])("is woken by %s", async (_, shops) => {
    const on = lab();
    await on.world.run(flow.with({ ...on }).run(undefined, { id: "r" }));
    const heard: Outcome<unknown>[] = [];
    const onStop = (outcome: Outcome<unknown>): void => void heard.push(outcome);
    for (const workflows of shops) open(on, workflows, { interval: "4m", onStop });
    await on.world.advance(3 * 86_400_000 + 300_000);
    expect(await standings(on.storage)).toEqual({ r: "completed", [(await childOf(on)).runId]: "completed" });
    expect(
      outputOf(
        await flow
          .with({ ...on })
          .get("r")
          .outcome(),
      ),
    ).toBe("kid is up");
    // A look now and then is no hot loop: at most a few drives a day.
    expect(heard.length).toBeLessThan(40);
  });

  test("result() of the parent waits it out by itself", async () => {
    const on = lab();
    const run = await flow.with({ ...on }).start(undefined, { id: "r" });
    expect(await on.world.run(run.result())).toBe("kid is up");
  });
});
