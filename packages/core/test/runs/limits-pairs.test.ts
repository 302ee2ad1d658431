/** Where limits meet other features: debounce, crashes, cancel, pause, forks, retries, children, chapters, deadlines. */

import { createApp, durable, type App, type StartOptions } from "@durable/core";
import { limitUse } from "@durable/core/inspect";
import { faultyStorage, type Fault } from "@durable/testing";
import { describe, expect, test } from "vitest";
import { lab, noticingLab, outputOf, type Lab } from "../support/behaviour-lab.ts";
import { open } from "../support/worker-lab.ts";

const minute = 60_000;
const debounce = { key: "k", wait: "10s" } as const;

/** A workflow that notes which runs began with which input, and an app with it. */
function noting(base: Lab, options: object = {}, work: (input: string) => unknown = () => {}) {
  const begun: string[] = [];
  const flow = durable(
    "note",
    async (ctx, input: string) => {
      await ctx.step("begin", () => {
        begun.push(`${ctx.runId} ${input}`);
        return work(input) as undefined;
      });
      await ctx.step("end", () => {});
      return input;
    },
    { retry: { attempts: 1 }, ...options },
  );
  return { flow, begun, app: createApp({ ...base, workflows: [flow], bind: false }) };
}

async function usedOf({ storage }: Lab): Promise<number> {
  const { windows = [] } = (await limitUse(storage)) ?? {};
  return windows.reduce((sum, { used }) => sum + used, 0);
}

const start = (app: App, input: string, options: Partial<StartOptions> = {}) =>
  app.start("note", input, { drive: false, ...options });

/** When a run wants a driver again, counted from now. */
async function wakesIn({ world }: Lab, app: App, id: string): Promise<number | null> {
  const outcome = await app.get(id).outcome();
  return outcome.status === "suspended" && outcome.wakeAt !== null ? outcome.wakeAt - world.now() : null;
}

describe("debounce and a rate", () => {
  const rate = { max: 1, per: "1 minute" };

  test("a run that waits for its turn is still moved, and runs the last input once", async () => {
    const base = noticingLab();
    const { flow, begun, app } = noting(base, { rate });
    await base.world.run((await app.start("note", "first", { id: "a" })).result());
    await start(app, "one", { id: "d", debounce });
    open(base, [flow]);
    await base.world.advance(15_000);
    expect(await wakesIn(base, app, "d")).toBeGreaterThan(30_000);
    expect((await start(app, "two", { debounce })).id).toBe("d");
    expect(await wakesIn(base, app, "d"), "moved").toBeLessThanOrEqual(10_000);
    await base.world.advance(2 * minute);
    expect(begun).toEqual(["a first", "d two"]);
    expect(await app.get("d").outcome()).toMatchObject({ status: "completed", output: "two" });
    const next = await start(app, "three", { debounce });
    expect([next.repeated, next.id === "d"]).toEqual([false, false]);
  });

  test("a cancelled one frees its key and its turn", async () => {
    const base = lab();
    const { begun, app } = noting(base, { rate });
    await base.world.run((await app.start("note", "first", { id: "a" })).result());
    await start(app, "one", { id: "d", debounce });
    await base.world.advance(11_000);
    await base.world.run(app.advance("d"));
    await app.get("d").cancel();
    const next = await start(app, "two", { id: "e", debounce });
    expect(next.repeated).toBe(false);
    await base.world.advance(11_000);
    await base.world.run(app.advance("e"));
    expect(await wakesIn(base, app, "e"), "the turn of d").toBeLessThan(minute);
    await base.world.advance(minute);
    expect(await base.world.run(app.advance("e"))).toMatchObject({ status: "completed" });
    expect(begun).toEqual(["a first", "e two"]);
  });

  test("a paused one is moved and stays paused, and begins at its new time", async () => {
    const base = lab();
    const { begun, app } = noting(base, { rate });
    await start(app, "one", { id: "d", debounce });
    await app.get("d").pause();
    await base.world.advance(minute);
    expect((await start(app, "two", { debounce })).id).toBe("d");
    expect(await app.get("d").outcome()).toMatchObject({ status: "paused" });
    await app.get("d").unpause({ drive: false });
    expect(outputOf(await base.world.run(app.advance("d")))).toMatchObject({
      status: expect.not.stringMatching("completed"),
    });
    await base.world.advance(11_000);
    expect(outputOf(await base.world.run(app.advance("d")))).toBe("two");
    expect([begun, await usedOf(base)]).toEqual([["d two"], 1]);
  });

  const faults: readonly Fault[] = ["crash-before", "crash-after", "lose-reply", "lose-request"];
  test.each(faults)(
    "%s at every append: it runs one input, and takes the rate at most twice",
    async (fault) => {
      for (let append = 1; append <= 5; append++) {
        const base = lab(append);
        const { flow, begun, app } = noting(base, { rate: { max: 3, per: "1 hour" } });
        await start(app, "one", { id: "d", debounce });
        await start(app, "two", { debounce });
        await base.world.advance(11_000);
        const storage = faultyStorage(base.storage, {
          world: base.world,
          plan: (operation, index) => (operation === "append" && index === append ? fault : null),
        });
        const dying = createApp({ ...base, storage, workflows: [flow], bind: false });
        await base.world.run(Promise.race([dying.advance("d").catch(() => {}), storage.died]));
        await base.world.advance(minute);
        const where = `${fault} at append ${append}`;
        expect(outputOf(await base.world.run(app.advance("d"))), where).toBe("two");
        expect(new Set(begun), where).toEqual(new Set(["d two"]));
        const used = await usedOf(base);
        // Only a death between taking the rate and the entry that says so loses what was taken.
        expect(used, where).toBe(fault === "crash-before" && append === 1 ? 2 : 1);
      }
    },
  );
});

describe("forks", () => {
  test("take a turn of their own, by the key of their own input", async () => {
    const base = lab();
    const rate = { max: 1, per: "1 minute", key: (input: string) => input };
    const { begun, app } = noting(base, { rate });
    await base.world.run((await app.start("note", "x", { id: "a" })).result());
    await app.get("a").fork({ from: "begin", id: "same" });
    await app.get("a").fork({ from: "begin", id: "other", input: "y" });
    await base.world.advance(1);
    expect(begun).toEqual(["a x", "other y"]);
    expect(await wakesIn(base, app, "same")).toBeGreaterThan(50_000);
    await app.get("same").cancel();
    await start(app, "x", { id: "next" });
    await base.world.run(app.advance("next"));
    expect(await wakesIn(base, app, "next"), "the turn of the fork").toBeLessThanOrEqual(61_000);
  });

  test("of a debounced run do not hold its key, and are not moved", async () => {
    const base = lab();
    const { begun, app } = noting(base);
    const run = await start(app, "one", { id: "d", debounce });
    await base.world.advance(11_000);
    await base.world.run(app.advance("d"));
    const fork = await run.fork({ from: "begin", id: "f" });
    const next = await start(app, "two", { debounce, id: "e" });
    expect(next.repeated).toBe(false);
    await base.world.run(fork.result());
    await base.world.advance(11_000);
    await base.world.run(app.advance("e"));
    expect(begun).toEqual(["d one", "f one", "e two"]);
  });

  test("wait for a slot like any other run", async () => {
    const base = lab();
    const gate: (() => void)[] = [];
    const held = (): Promise<void> => new Promise((resolve) => gate.push(resolve));
    const { app, begun } = noting(base, { concurrency: { max: 1 } }, held);
    const run = await app.start("note", "x", { id: "a" });
    await base.world.advance(1);
    gate.shift()?.();
    await base.world.run(run.result());
    await app.start("note", "y", { id: "b" });
    await base.world.advance(1);
    const fork = await app.get("a").fork({ from: "begin", id: "f" });
    await base.world.advance(5_000);
    expect(begun).toEqual(["a x", "b y"]);
    gate.shift()?.();
    await base.world.advance(5_000);
    expect(begun).toEqual(["a x", "b y", "f x"]);
    gate.shift()?.();
    await base.world.run(fork.result());
  });
});

describe("retries", () => {
  test("of a run with a slot wait for it", async () => {
    const base = lab();
    let broken = true;
    const work = (input: string): unknown => {
      if (input === "bad" && broken) throw new Error("broken");
      return input === "long" ? new Promise((resolve) => void base.world.timer(minute, () => resolve(0))) : 0;
    };
    const { app, begun } = noting(base, { concurrency: { max: 1 } }, work);
    const bad = await app.start("note", "bad", { id: "a" });
    await base.world.run(bad.result().catch(() => {}));
    broken = false;
    const long = await app.start("note", "long", { id: "b" });
    await base.world.advance(1_000);
    await bad.retry({ drive: false });
    expect(await base.world.run(app.advance("a"))).toMatchObject({ status: "running" });
    expect(begun).toEqual(["a bad", "b long"]);
    await base.world.run(long.result());
    expect(await base.world.run(app.advance("a"))).toMatchObject({ status: "completed" });
  });

  test("of a debounced run run its input again, and starts do not move it", async () => {
    const base = lab();
    let broken = true;
    const { app, begun } = noting(base, { rate: { max: 2, per: "1 hour" } }, () => {
      if (broken) throw new Error("broken");
    });
    const run = await start(app, "one", { id: "d", debounce });
    await base.world.advance(11_000);
    expect(await base.world.run(app.advance("d"))).toMatchObject({ status: "failed" });
    broken = false;
    await run.retry({ drive: false });
    expect((await start(app, "two", { id: "e", debounce })).repeated).toBe(false);
    expect(outputOf(await base.world.run(app.advance("d")))).toBe("one");
    expect([begun, await usedOf(base)]).toEqual([["d one", "d one"], 1]);
  });
});

describe("pauses", () => {
  test("a run whose turn passed while it was paused begins as soon as the rate allows", async () => {
    const base = lab();
    const { app, begun } = noting(base, { rate: { max: 1, per: "1 minute" } });
    for (const id of ["a", "b", "c"]) {
      await start(app, id, { id });
      await base.world.run(app.advance(id));
    }
    await app.get("b").pause();
    await base.world.advance(62_000);
    expect((await base.world.run(app.sweep())).outcomes).toEqual([]);
    await base.world.advance(61_000);
    expect(await base.world.run(app.advance("c"))).toMatchObject({ status: "completed" });
    await app.get("b").unpause({ drive: false });
    await base.world.run(app.advance("b"));
    await base.world.advance(61_000);
    expect(await base.world.run(app.advance("b"))).toMatchObject({ status: "completed" });
    expect(begun).toEqual(["a a", "c c", "b b"]);
  });

  test("a paused run has no slot", async () => {
    const base = lab();
    const flow = durable("hold", (ctx) => ctx.suspend("x"), { concurrency: { max: 1 } });
    const app = createApp({ ...base, workflows: [flow] });
    await app.start("hold", undefined, { id: "a", drive: false });
    await app.get("a").pause();
    await base.world.run(app.advance("a"));
    expect((await base.storage.limits?.slots())?.filter(({ taken }) => taken > 0)).toEqual([]);
    await app.start("hold", undefined, { id: "b" });
    await base.world.advance(1_000);
    expect(await app.get("b").outcome()).toMatchObject({ status: "suspended" });
  });
});

describe("children and chapters", () => {
  test.each(["cancel", "delete"] as const)(
    "%s of a parent gives the turn of its child back",
    async (verb) => {
      const base = lab();
      const { flow, begun } = noting(base, { rate: { max: 1, per: "1 hour" } });
      const parent = durable("parent", (ctx) => ctx.child(flow, "child"));
      const app = createApp({ ...base, workflows: [flow, parent] });
      await base.world.run((await app.start("note", "first", { id: "a" })).result());
      await base.world.run(app.start("parent", undefined, { id: "p" }));
      await base.world.advance(1_000);
      await app[verb]("p");
      await start(app, "next", { id: "n" });
      await base.world.run(app.advance("n"));
      expect(await wakesIn(base, app, "n"), "and not the turn after").toBeLessThan(1.1 * 60 * minute);
      expect(begun).toEqual(["a first"]);
    },
  );

  test("a chapter needs no turn, also after a crash", async () => {
    const base = lab();
    const flow = durable(
      "book",
      async (ctx, page: number): Promise<number> => {
        await ctx.step("read", () => page);
        return page < 3 ? ctx.continueAs(page + 1) : page;
      },
      { rate: { max: 1, per: "1 hour" } },
    );
    for (let append = 2; append <= 7; append++) {
      const on = append === 2 ? base : lab(append);
      const app = createApp({ ...on, workflows: [flow] });
      await app.start("book", 1, { id: "r", drive: false });
      const storage = faultyStorage(on.storage, {
        world: on.world,
        plan: (operation, index) => (operation === "append" && index === append ? "crash-before" : null),
      });
      const dying = createApp({ ...on, storage, workflows: [flow] });
      await on.world.run(Promise.race([dying.advance("r").catch(() => {}), storage.died]));
      await on.world.advance(minute);
      expect(outputOf(await on.world.run(app.advance("r"))), `append ${append}`).toBe(3);
      expect(await usedOf(on)).toBe(1);
    }
  });
});

describe("deadlines", () => {
  test("a run that waits for its turn fails in time, and gives its turn back", async () => {
    const base = noticingLab();
    const { flow, begun, app } = noting(base, { rate: { max: 1, per: "1 hour" } });
    open(base, [flow]);
    await start(app, "first", { id: "a" });
    await base.world.advance(1_000);
    await start(app, "late", { id: "b", deadline: "10 minutes" });
    await base.world.advance(11 * minute);
    expect(await app.get("b").outcome()).toMatchObject({ status: "failed", error: { code: "deadline" } });
    await start(app, "next", { id: "c" });
    await base.world.advance(60 * minute);
    expect(begun).toEqual(["a first", "c next"]);
  });

  test("a run that failed in the line and is retried goes to its end", async () => {
    const base = lab();
    const { app, begun } = noting(base, { rate: { max: 1, per: "1 hour" } });
    for (const [id, deadline] of [["a"], ["b", "10 minutes"], ["c"]] as const) {
      await start(app, id, { id, deadline });
      await base.world.run(app.advance(id));
    }
    await base.world.advance(11 * minute);
    expect(await base.world.run(app.advance("b"))).toMatchObject({ status: "failed" });
    await start(app, "d", { id: "d" });
    await base.world.run(app.advance("d"));
    await app.get("b").retry({ drive: false });
    await base.world.run(app.advance("b"));
    const turns = await Promise.all(["d", "c", "b"].map((id) => wakesIn(base, app, id)));
    expect(turns.map((ms) => Math.floor((ms ?? 0) / (60 * minute)))).toEqual([0, 1, 2]);
    expect(begun).toEqual(["a a"]);
  });

  test.each([{ delay: "1 hour" }, { debounce: { key: "k", wait: "1 hour" } }] as const)(
    "%s: a run whose deadline comes before its time fails then",
    async (options) => {
      const base = noticingLab();
      const { flow, begun, app } = noting(base);
      open(base, [flow]);
      await start(app, "x", { id: "a", deadline: "10 minutes", ...options });
      await base.world.advance(11 * minute);
      expect(await app.get("a").outcome()).toMatchObject({ status: "failed", error: { code: "deadline" } });
      expect(begun).toEqual([]);
    },
  );
});
