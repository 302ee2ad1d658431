import { createApp, durable } from "@durable/core";
import { aesGcm } from "@durable/core/encryption";
import { countingStorage } from "@durable/testing";
import { describe, expect, test } from "vitest";
import { failureOf, lab, outputOf, tokenOf, type Lab } from "../support/behaviour-lab.ts";

interface State {
  readonly n: number;
  readonly log: readonly string[];
}

/** Two steps and a draw per chapter; `ran` has every step that ran. */
function story(ran: string[], last = 3) {
  return durable("story", async (ctx, { n, log }: State): Promise<readonly string[]> => {
    const work = (name: string, value: string) =>
      ctx.step(name, () => {
        ran.push(`${ctx.runId} ${n} ${name}`);
        return value;
      });
    const one = await work("one", `one ${n}`);
    const two = await work("two", `${one}, two ${n}`);
    const next = [...log, two];
    return n === last ? next : ctx.continueAs({ n: n + 1, log: next });
  });
}

async function ended(on: Lab, last = 3) {
  const ran: string[] = [];
  const flow = story(ran, last).with({ ...on });
  await on.world.run(flow.run({ n: 1, log: [] }, { id: "r" }));
  ran.length = 0;
  return { ran, flow };
}

const before = ["one 1, two 1", "one 2, two 2"];

describe.each([false, true])("a fork of a run in its third chapter (sealed: %s)", (sealed) => {
  const place = (): Lab => ({
    ...lab(),
    ...(sealed
      ? {
          encryption: aesGcm({
            current: "k",
            keys: { k: Uint8Array.from({ length: 32 }, (_, at) => at + 3) },
          }),
        }
      : {}),
  });

  test("goes back within that chapter, and keeps its state", async () => {
    const on = place();
    const { ran, flow } = await ended(on);
    const fork = await on.world.run(flow.fork("r", { from: "two", id: "f" }));
    expect(await on.world.run(fork.result())).toEqual([...before, "one 3, two 3"]);
    expect(ran).toEqual(["f 3 two"]);
    expect(await flow.get("r").outcome(), "the parent is as it was").toMatchObject({ status: "completed" });
  });

  test("with an edit, and with another input", async () => {
    const on = place();
    const { ran, flow } = await ended(on);
    const edited = await on.world.run(flow.fork("r", { edit: { one: "edited" }, id: "f" }));
    expect(await on.world.run(edited.result())).toEqual([...before, "edited, two 3"]);
    expect(ran).toEqual(["f 3 two"]);
    const other = await on.world.run(flow.fork("r", { from: "one", input: { n: 3, log: ["new"] }, id: "g" }));
    expect(await on.world.run(other.result())).toEqual(["new", "one 3, two 3"]);
  });

  test("can itself continue, be forked, and be forked in its later chapter", async () => {
    const on = place();
    const { ran, flow } = await ended(on);
    const longer = story(ran, 5).with({ ...on });
    const fork = await on.world.run(longer.fork("r", { from: "two", id: "f" }));
    const all = [...before, "one 3, two 3", "one 4, two 4", "one 5, two 5"];
    expect(await on.world.run(fork.result())).toEqual(all);
    expect(ran).toEqual(["f 3 two", "f 4 one", "f 4 two", "f 5 one", "f 5 two"]);
    ran.length = 0;
    const second = await on.world.run(longer.fork("f", { from: "two", id: "g" }));
    expect(await on.world.run(second.result())).toEqual(all);
    expect(ran, "f is in its own fifth chapter").toEqual(["g 5 two"]);
    const third = await on.world.run(longer.fork("g", { after: "one", id: "h" }));
    expect(await on.world.run(third.result())).toEqual(all);
    expect(flow.name).toBe("story");
  });

  test("a fork that parks is read by another process", async () => {
    const on = place();
    const ask = durable("ask", async (ctx, n: number): Promise<string> => {
      const seen = await ctx.step("s", () => `step ${n}`);
      if (n < 3) return ctx.continueAs(n + 1);
      return `${seen} ${await ctx.suspend<string>("ok")}`;
    });
    await on.world.run(ask.with({ ...on }).run(1, { id: "r" }));
    const fork = await on.world.run(ask.with({ ...on }).fork("r", { from: "ok", id: "f" }));
    const parked = await failureOf(on.world.run(fork.result()));
    expect(parked).toMatchObject({ code: "suspended" });
    const { outcome } = await on.world.run(ask.with({ ...on }).resume(tokenOf(await fork.outcome()), "yes"));
    expect(outputOf(outcome)).toBe("step 3 yes");
  });
});

test("a fork has the id of its parent's first input no more than before: it is found by its own", async () => {
  const on = lab();
  const { flow } = await ended(on);
  const fork = await on.world.run(flow.fork("r", { from: "two", id: "f" }));
  await on.world.run(fork.result());
  const again = await on.world.run(flow.fork("r", { from: "two", id: "f" }));
  expect(again.id).toBe("f");
  // The input with which the fork began is the state of the third chapter.
  const state = { n: 3, log: before };
  expect(outputOf(await on.world.run(flow.run(state, { id: "f" })))).toHaveLength(3);
  expect(await failureOf(on.world.run(flow.run({ n: 1, log: [] }, { id: "f" })))).toMatchObject({
    code: "input-mismatch",
  });
});

test("a step of an earlier chapter is unknown to a fork", async () => {
  const on = lab();
  const flow = durable("f", async (ctx, n: number): Promise<number> => {
    await ctx.step(`step ${n}`, () => n);
    return n === 3 ? n : ctx.continueAs(n + 1);
  }).with(on);
  await on.world.run(flow.run(1, { id: "r" }));
  expect(await failureOf(flow.fork("r", { from: "step 1" }))).toMatchObject({ code: "unknown-step" });
});

test("a fork and its drive read the chapter alone, not the chapters before", async () => {
  const fetched: number[] = [];
  for (const last of [2, 12]) {
    const on = lab();
    const big = durable("big", async (ctx, n: number): Promise<number> => {
      await ctx.step("s", () => Array.from({ length: 400 }, (_, i) => `${n} ${i} ${i * 7_919}`));
      return n === last ? ctx.suspend<number>("ok") : ctx.continueAs(n + 1);
    });
    await on.world.run(big.with({ ...on }).run(1, { id: "r" }));
    const storage = countingStorage(on.storage);
    const app = createApp({ ...on, storage, workflows: [big] });
    const fork = await on.world.run(app.get("r").fork({ from: "ok", id: "f" }));
    await on.world.advance(1_000);
    expect(await fork.outcome()).toMatchObject({ status: "suspended" });
    fetched.push(storage.counts.fetched);
  }
  const [short = 0, long = 0] = fetched;
  expect(short).toBeGreaterThan(5_000);
  expect(long).toBeLessThan(short * 1.2);
});

test("a parent that continues afterwards leaves its fork as it is", async () => {
  const on = lab();
  const ask = durable("ask", async (ctx, n: number): Promise<string> => {
    const seen = await ctx.step("s", () => `step ${n}`);
    const answer = await ctx.suspend<string>("ok");
    return answer === "on" ? ctx.continueAs(n + 1) : `${seen} ${answer}`;
  });
  const flow = ask.with({ ...on });
  let parent = await on.world.run(flow.run(1, { id: "r" }));
  parent = (await on.world.run(flow.resume(tokenOf(parent), "on"))).outcome!;
  const fork = await on.world.run(flow.fork("r", { from: "ok", id: "f" }));
  await on.world.advance(1_000);
  parent = (await on.world.run(flow.resume(tokenOf(parent), "on"))).outcome!;
  const forked = await on.world.run(ask.with({ ...on }).resume(tokenOf(await fork.outcome()), "yes"));
  expect(outputOf(forked.outcome)).toBe("step 2 yes");
  expect(outputOf((await on.world.run(flow.resume(tokenOf(parent), "end"))).outcome)).toBe("step 3 end");
});
