/** A storage forgets its last batches, as after a failover to a replica that was behind. */

import { createApp, createWorker, durable, DurableError, type StandardSchema } from "@durable/core";
import { viewRun } from "@durable/core/inspect";
import type { BlockedEvent } from "@durable/core/hooks";
import type { AppendRequest } from "@durable/core/storage";
import { expect, onTestFinished, test } from "vitest";
import { losing, type Losing } from "../support/losing.ts";

const secret = "only for this test, 32 characters";

interface Lab {
  readonly done: string[];
  readonly app: ReturnType<typeof createApp>;
  readonly store: Losing;
  readonly warnings: string[];
  /** What `onBlocked` was told. */
  readonly blocked: string[];
}

/** Three steps; the storage loses `batches` while the last one is under way. */
function lab(batches: number, asks?: "suspend"): Lab {
  const done: string[] = [];
  const warnings: string[] = [];
  const store = losing();
  let isLost = false;
  const order = durable("order", async (ctx) => {
    const step = (name: string) =>
      ctx.step(name, () => done.push(name) && name, {
        ...(name === "charge" && asks !== undefined && { onUncertain: asks }),
      });
    const plan = await step("plan");
    const paid = await step("charge");
    await ctx.step("mail", async () => {
      done.push("mail");
      if (isLost || batches === 0) return;
      isLost = true;
      await store.forget(batches);
    });
    return `${plan} ${String(paid)}`;
  });
  const warn = (message: string): void => void warnings.push(message);
  const logger = { debug: () => {}, info: () => {}, warn, error: warn };
  const blocked: string[] = [];
  const hooks = { onBlocked: ({ error }: BlockedEvent) => void blocked.push(error.code) };
  const app = createApp({ storage: store.storage, secret, workflows: [order], logger, hooks });
  return { done, app, store, warnings, blocked };
}

test("a live driver goes on from what is left, behind an entry that says so", async () => {
  const { app, done, warnings, blocked } = lab(1);
  const run = await app.start("order", undefined, { id: "o" });
  expect(await run.result()).toBe("plan charge");
  expect(done).toEqual(["plan", "charge", "mail", "charge", "mail"]);
  const entries = await run.entries();
  expect(entries.map(({ kind }) => kind)).toEqual([
    "run.started",
    "step.completed",
    "run.regressed",
    "step.completed",
    "step.completed",
    "run.completed",
  ]);
  expect(entries[2]).toMatchObject({ from: 3, to: 2, steps: [] });
  expect(viewRun(entries).losses).toMatchObject([{ from: 3, to: 2, steps: [] }]);
  expect(blocked).toEqual([]);
  expect(warnings).toEqual([expect.stringContaining("run o goes on from 2 of 3 batches")]);
});

test("a step with onUncertain whose start and outcome were lost is asked for, and not done again", async () => {
  const { app, done } = lab(2, "suspend");
  const run = await app.start("order", undefined, { id: "o", drive: false });
  const outcome = await app.advance("o");
  if (outcome.status !== "suspended") throw new Error(outcome.status);
  expect(done).toEqual(["plan", "charge", "mail"]);
  expect(outcome.waiting).toMatchObject([{ key: "charge/uncertain" }]);
  expect((await run.entries())[2]).toMatchObject({
    kind: "run.regressed",
    from: 4,
    to: 2,
    steps: ["charge"],
  });
  await app.resume(outcome.waiting[0]?.token ?? "", { status: "completed", value: "by hand" });
  expect(await run.result()).toBe("plan by hand");
  expect(done).toEqual(["plan", "charge", "mail", "mail"]);
});

test("the code may decide otherwise, and does not come to a step that had begun", async () => {
  const store = losing();
  let round = 0;
  const flow = durable("flow", async (ctx) => {
    const n = await ctx.step("decide", () => ++round);
    if (n === 1) await ctx.step("charge", () => "x", { onUncertain: "suspend" });
    else await ctx.step("other", () => "y", { onUncertain: "suspend" });
    return ctx.step("end", async () => {
      if (n === 1) await store.forget(3);
      return n;
    });
  });
  const app = createApp({ storage: store.storage, secret, workflows: [flow] });
  const run = await app.start("flow", undefined, { id: "f" });
  expect(await run.result()).toBe(2);
  expect((await run.entries())[1]).toMatchObject({
    kind: "run.regressed",
    from: 4,
    to: 1,
    steps: ["charge"],
  });
});

test("a run that is parked in memory notices it when it goes on", async () => {
  const store = losing();
  const asks = durable("asks", async (ctx) => {
    await ctx.step("plan", () => "p");
    await ctx.suspend("one");
    return ctx.suspend("two");
  });
  const app = createApp({ storage: store.storage, secret, workflows: [asks] });
  const first = await app.run("asks", undefined, { id: "a" });
  if (first.status !== "suspended") throw new Error(first.status);
  const second = await app.resume(first.waiting[0]?.token ?? "", 1);
  expect(second.outcome?.status).toBe("suspended");
  await store.forget(1);
  const outcome = await app.advance("a");
  expect(outcome.status).toBe("suspended");
  expect((await app.get("a").entries()).map(({ kind }) => kind)).toContain("run.regressed");
});

test("a driver that died with the batches leaves nothing that knows of them", async () => {
  const { app, done, store } = lab(0, "suspend");
  await app.start("order", undefined, { id: "o", drive: false });
  const { storage } = store;
  // The process that has seen two more batches is gone.
  const other = durable("order", async (ctx) => {
    await ctx.step("plan", () => done.push("plan") && "plan");
    return ctx.suspend("stay");
  });
  await createApp({ storage, secret, workflows: [other], warm: 0 }).advance("o");
  await store.forget(store.size - 1);
  const worker = createWorker(app, { interval: 5 });
  onTestFinished(() => worker.stop());
  expect(await app.get("o").result({ wait: true })).toBe("plan charge");
  expect((await app.get("o").entries()).map(({ kind }) => kind)).not.toContain("run.regressed");
  expect(done.filter((name) => name === "plan")).toEqual(["plan", "plan"]);
});

/** Asks, plans, charges and asks again. With `talks`, a message comes while it plans. */
function shop({ talks = false, loses = false } = {}) {
  const done: string[] = [];
  const store = losing();
  let lost = 0;
  const flow = durable("shop", async (ctx) => {
    await ctx.suspend("one", { schema: anyText });
    await ctx.step("plan", async () => {
      if (talks) await app.send("a", "note", done.push("plan"));
    });
    await ctx.step("charge", () => done.push("charge"), { onUncertain: "suspend" });
    await ctx.step("mail", async () => {
      if (loses && lost++ === 0) await store.forget(2);
    });
    return ctx.suspend("two");
  });
  /** Refuses the next append of `run.regressed`. */
  const refuses = { next: false };
  const storage = new Proxy(store.storage, {
    get: (inner, name) => {
      const value: unknown = Reflect.get(inner, name, inner);
      if (name !== "append") return value;
      return async (request: AppendRequest) => {
        if (refuses.next && request.batch.includes("run.regressed")) {
          refuses.next = false;
          throw new DurableError("storage-failed", "The disk is gone.", { details: { gaveUp: true } });
        }
        await store.storage.append(request);
      };
    },
  });
  const app = createApp({ storage, secret, workflows: [flow] });
  const begin = async (): Promise<string> => {
    const first = await app.run("shop", undefined, { id: "a" });
    return (first.status === "suspended" && first.waiting[0]?.token) || "";
  };
  const losses = async () => viewRun(await app.get("a").entries()).losses;
  return { app, done, store, begin, losses, refuses };
}

const anyText: StandardSchema<unknown, string> = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: (value) => (typeof value === "string" ? { value } : { issues: [{ message: "no text" }] }),
  },
};

test.each(["yes", 1])("an answer (%j) drives a run on only behind the entry", async (answer) => {
  const { app, done, store, begin, losses } = shop();
  const token = await begin();
  const { size } = store;
  await app.resume(token, "yes");
  expect(done).toEqual(["charge"]);
  await store.forget(store.size - size);
  const again = await app.resume(token, answer);
  expect(again.status).toBe(answer === 1 ? "invalid" : "accepted");
  expect(await losses()).toMatchObject([{ steps: ["charge"] }]);
  expect((await app.list({ status: "suspended" })).runs).toHaveLength(1);
  expect(done).toEqual(["charge"]);
});

test("of several journals that notice a loss, the one that has seen most counts", async () => {
  const { app, done, store, begin, losses } = shop({ talks: true });
  await app.resume(await begin(), "yes");
  expect(done).toEqual(["plan", "charge"]);
  await store.forget(store.size - 3);
  await app.advance("a");
  expect(await losses()).toMatchObject([{ to: 3, steps: ["charge"] }]);
  expect(done).toEqual(["plan", "charge", "plan"]);
});

test("a loss that could not be recorded is recorded by the next drive", async () => {
  const { app, done, store, begin, losses, refuses } = shop();
  await app.resume(await begin(), "yes");
  await store.forget(store.size - 3);
  refuses.next = true;
  await expect(app.advance("a")).rejects.toThrow("The disk is gone.");
  await app.advance("a");
  expect(await losses()).toMatchObject([{ to: 3, steps: ["charge"] }]);
  expect(done).toEqual(["charge"]);
});

test("a run that an answer drives goes on from what is left", async () => {
  const { app, done, begin, losses } = shop({ loses: true });
  const { status, outcome } = await app.resume(await begin(), "yes");
  expect(status).toBe("accepted");
  expect(outcome?.status).toBe("suspended");
  expect(await losses()).toMatchObject([{ steps: ["charge"] }]);
  expect(done).toEqual(["charge"]);
});
