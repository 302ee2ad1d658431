/** What a run can do: wait, undo, stream, continue, start others. */

import { durable, FatalError } from "@durable/core";
import { expect } from "vitest";
import type { Feature } from "./feature.ts";
import { refuses, tokenOf } from "./lab.ts";

export const messages: Feature = {
  name: "Messages",
  page: "guides/write/messages.md",
  programs: {
    "messages are read in their order, each once, also those that came early": async (lab) => {
      const flow = durable("inbox", async (ctx) => {
        const got: unknown[] = [];
        while (got.at(-1) !== "last") got.push(await ctx.receive("news"));
        return got;
      });
      const app = lab.app([flow]);
      const other = lab.app([], { storage: await lab.another() });
      const run = await lab.run(app.start("inbox", undefined, { id: "r", drive: false }));
      for (const text of ["one", "two"]) await lab.run(other.send("r", "news", text, { id: text }));
      lab.worker(app);
      await lab.until("it waits for more", async () => (await lab.statuses(app))["suspended"]);
      await lab.run(other.send("r", "news", "two", { id: "two" }));
      await lab.run(other.send("r", "news", "last"));
      expect(await lab.ended(run)).toMatchObject({ status: "completed", output: ["one", "two", "last"] });
      expect(await lab.run(other.send("r", "news", "late"))).toMatchObject({ status: "ended" });
    },
  },
};

export const answers: Feature = {
  name: "Waits and answers",
  page: "guides/write/human-review.md",
  programs: {
    "an answer that another process takes continues the run": async (lab) => {
      const flow = durable("ask", async (ctx) => `got ${await ctx.suspend<string>("go")}`);
      const app = lab.app([flow]);
      const other = lab.app([flow], { storage: await lab.another() });
      await lab.run(app.start("ask", undefined, { id: "r", drive: false }));
      const token = tokenOf(await lab.run(app.advance("r")));
      lab.worker(app);
      expect(await lab.run(other.resume(token, "yes"))).toMatchObject({ status: "accepted" });
      expect(await lab.ended(app.get("r"))).toMatchObject({ status: "completed", output: "got yes" });
    },
    "a run whose deadline passes fails, also while it is parked": async (lab) => {
      const flow = durable("ask", (ctx) => ctx.suspend("go"), { deadline: "5 minutes" });
      const app = lab.app([flow]);
      lab.worker(app);
      const run = await lab.run(app.start("ask", undefined, { drive: false }));
      expect(await lab.ended(run)).toMatchObject({ status: "failed", error: { code: "deadline" } });
    },
    "a wait is found, listed and answered while a step of its run works": async (lab) => {
      const flow = durable("review", (ctx) =>
        ctx.parallel({
          person: (c) => c.suspend<boolean>("approve", { note: "may I?", timeout: "1 day" }),
          work: (c) => c.step("long", () => lab.pause(20_000)),
        }),
      );
      const app = lab.app([flow]);
      const run = await lab.run(app.start("review", undefined, { id: "r" }));
      await lab.pass(5_000);
      const outcome = await run.outcome();
      expect(outcome).toMatchObject({ status: "running", state: "running", waiting: [{ note: "may I?" }] });
      if (lab.storage.finds === true)
        expect(await lab.list(app, { waiting: true })).toMatchObject([
          { runId: "r", state: "running", waits: { count: 1, question: "may I?" } },
        ]);
      const [wait] = "waiting" in outcome ? outcome.waiting : [];
      const answered = await lab.run(lab.app([flow]).resume(wait?.token ?? "", true, { drive: false }));
      expect(answered).toMatchObject({ status: "accepted" });
      if (lab.storage.finds === true) expect(await lab.list(app, { waiting: true })).toEqual([]);
      expect(await lab.ended(run)).toMatchObject({ status: "completed", output: { person: true } });
    },
    "a run whose driver has died is driven by another one": async (lab) => {
      const flow = durable("quick", (ctx) => ctx.step("work", () => 1));
      const app = lab.app([flow]);
      const run = await lab.run(app.start("quick", undefined, { drive: false }));
      const [head] = await lab.list(app);
      await lab.storage.lease(head?.locator ?? "", "a process that died", 30_000);
      lab.worker(app);
      await lab.pass(20_000);
      expect(await run.outcome()).toMatchObject({ status: "running" });
      expect(await lab.ended(run)).toMatchObject({ status: "completed", output: 1 });
    },
  },
};

export const chapters: Feature = {
  name: "Chapters",
  page: "guides/write/runs-that-never-end.md",
  programs: {
    "a run goes on in chapters, with the messages that it has not read": async (lab) => {
      const flow = durable("book", async (ctx, n: number) => {
        await ctx.step("write", () => n);
        if (n < 3) return ctx.continueAs(n + 1);
        return [n, await ctx.receive("reader")];
      });
      const app = lab.app([flow]);
      const run = await lab.run(app.start("book", 1, { id: "r", drive: false }));
      await lab.run(app.send("r", "reader", "hello"));
      lab.worker(app);
      expect(await lab.ended(run)).toMatchObject({ status: "completed", output: [3, "hello"] });
      const keys = (await lab.run(run.entries())).flatMap((entry) => ("key" in entry ? [entry.key] : []));
      expect(keys.filter((key) => key === "write")).toHaveLength(1);
    },
  },
};

const book = durable("book", async (ctx, n: number) => {
  await ctx.step("write", () => "x".repeat(10_000));
  return n < 3 ? ctx.continueAs(n + 1) : ctx.suspend("go");
});

export const droppedChapters: Feature = {
  name: "Dropping chapters",
  page: "guides/write/runs-that-never-end.md",
  needs: "dropChapters",
  programs: {
    "earlier chapters go, and the run goes on": async (lab) => {
      const app = lab.app([book]);
      const run = await lab.run(app.start("book", 1, { id: "r", drive: false }));
      const waiting = await lab.run(app.advance("r"));
      expect((await lab.run(run.entries({ chapter: 1 }))).length).toBeGreaterThan(0);
      await lab.run(run.dropChapters());
      await expect(lab.run(run.entries({ chapter: 1 }))).rejects.toMatchObject({ name: "DurableError" });
      await lab.run(app.resume(tokenOf(waiting), "done"));
      expect(await run.outcome()).toMatchObject({ status: "completed", output: "done" });
    },
  },
  without: async (lab) => {
    const app = lab.app([book]);
    const run = await lab.run(app.start("book", 1, { id: "r", drive: false }));
    await lab.run(app.advance("r"));
    await refuses(() => lab.run(run.dropChapters()), /This storage keeps all chapters/);
  },
};

const child = durable("child", async (ctx, input: unknown) => {
  if (input === "wait") await ctx.suspend("go");
  return ctx.step("work", () => `child of ${String(input)}`);
});

export const children: Feature = {
  name: "Children and spawned runs",
  page: "guides/write/spawned-runs.md",
  programs: {
    "a parent gets what its child gives, and its cancel ends the child": async (lab) => {
      const parent = durable("parent", (ctx, input: unknown) => ctx.child(child, input));
      const app = lab.app([parent, child]);
      lab.worker(app);
      const run = await lab.run(app.start("parent", "a", { drive: false }));
      expect(await lab.ended(run)).toMatchObject({ status: "completed", output: "child of a" });
      const waits = await lab.run(app.start("parent", "wait", { id: "waits", drive: false }));
      await lab.until("both wait", async () => (await lab.statuses(app))["suspended"] === 2);
      await lab.run(waits.cancel());
      expect(await lab.statuses(app)).toEqual({ completed: 2, cancelled: 2 });
    },
    "a spawned run outlives its parent, or ends with it": async (lab) => {
      const parent = durable("parent", async (ctx) => {
        await ctx.spawn(child, "wait", { id: "leaves" });
        await ctx.spawn(child, "wait", { id: "ends", onParentEnd: "cancel" });
        await ctx.spawn(child, "b", { id: "works" });
        return ctx.suspend("go");
      });
      const app = lab.app([parent, child]);
      lab.worker(app);
      const run = await lab.run(app.start("parent", undefined, { drive: false }));
      await lab.until("three wait", async () => (await lab.statuses(app))["suspended"] === 3);
      await lab.run(app.resume(tokenOf(await run.outcome()), "end"));
      expect(await lab.ended(run)).toMatchObject({ status: "completed" });
      expect(await lab.ended(app.get("ends"))).toMatchObject({ status: "cancelled" });
      expect(await lab.ended(app.get("works"))).toMatchObject({ output: "child of b" });
      expect(await app.get("leaves").outcome()).toMatchObject({ status: "suspended" });
    },
  },
};

export const undoing: Feature = {
  name: "Undoing work",
  page: "guides/write/undoing-work.md",
  programs: {
    "a run that fails undoes its steps, the last one first": async (lab) => {
      const undone: unknown[] = [];
      const flow = durable("trip", async (ctx) => {
        for (const name of ["hotel", "flight"])
          await ctx.step(name, () => `${name} booked`, {
            compensate: ({ value }) => void undone.push(value),
          });
        await ctx.step("pay", () => {
          throw new FatalError("no money");
        });
      });
      const app = lab.app([flow]);
      lab.worker(app);
      const run = await lab.run(app.start("trip", undefined, { drive: false }));
      expect(await lab.ended(run)).toMatchObject({ status: "failed" });
      expect(undone).toEqual(["flight booked", "hotel booked"]);
    },
    "a run that is cancelled cleans up, in whichever process": async (lab) => {
      const cleaned: string[] = [];
      const flow = durable("clean", async (ctx) => {
        ctx.onCancel((c) => c.step("tidy", () => void cleaned.push("tidied")));
        await ctx.step("work", () => 1, { compensate: () => void cleaned.push("undone") });
        await ctx.suspend("go");
      });
      const app = lab.app([flow]);
      const other = lab.app([], { storage: await lab.another() });
      lab.worker(app);
      const run = await lab.run(app.start("clean", undefined, { id: "r", drive: false }));
      await lab.until("it waits", async () => (await lab.statuses(app))["suspended"]);
      await lab.run(other.cancel("r", { reason: "not needed" }));
      expect(await lab.ended(run)).toMatchObject({ status: "cancelled", reason: "not needed" });
      expect(cleaned).toEqual(["undone", "tidied"]);
    },
  },
};

export const streams: Feature = {
  name: "Streams",
  page: "guides/write/streaming.md",
  programs: {
    "a reader in another process gets every chunk once, in order": async (lab) => {
      const flow = durable("say", (ctx) =>
        ctx.stream("words", async function* () {
          for (const word of ["one", "two", "three"]) {
            yield word;
            await lab.pause(1_000);
          }
        }),
      );
      const app = lab.app([flow]);
      const other = lab.app([], { storage: await lab.another() });
      await lab.run(app.start("say", undefined, { id: "r", drive: false }));
      lab.worker(app);
      const read = async (): Promise<unknown[]> => {
        const got: unknown[] = [];
        for await (const event of other.get("r").stream("words"))
          if (event.type === "chunk") got.push(event.value);
        return got;
      };
      expect(await lab.run(read())).toEqual(["one", "two", "three"]);
    },
    "a large value is kept as it is": async (lab) => {
      const text = "ü€🚀".repeat(20_000);
      const flow = durable("large", async (ctx) => {
        const value = await ctx.step("large", () => [text, text]);
        await ctx.sleep("1 minute");
        return value.map((part) => part === text);
      });
      const app = lab.app([flow]);
      await lab.run(app.start("large", undefined, { id: "r" }));
      const other = lab.app([flow], { storage: await lab.another() });
      lab.worker(other);
      expect(await lab.ended(other.get("r"))).toMatchObject({ output: [true, true] });
    },
  },
};
