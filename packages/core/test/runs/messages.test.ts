import {
  createApp,
  durable,
  limits,
  type Outcome,
  type StandardSchema,
  type SuspendPoint,
} from "@durable/core";
import { countingStorage, crashEverywhere, recorder } from "@durable/testing";
import { describe, expect, inject, test } from "vitest";
import { RunJournal } from "../../src/journal/journal.ts";
import { writeFact } from "../../src/journal/batch.ts";
import { locatorOf } from "../../src/journal/keys.ts";
import { hooked, kindsOf, lab, outputOf, pause, tokenOf, type Lab } from "../support/behaviour-lab.ts";

/** Accepts numbers, and texts of numbers. */
const number: StandardSchema<unknown, number> = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: (value) =>
      Number.isFinite(Number(value)) && value !== null
        ? { value: Number(value) }
        : { issues: [{ message: "expected a number" }] },
  },
};

/** Reads three messages. */
const three = durable("three", async (ctx) => {
  const read: unknown[] = [];
  while (read.length < 3) read.push(await ctx.receive("note"));
  return read;
});

/** Sends messages one after the other. */
async function sendAll(on: Lab, payloads: readonly unknown[], runId = "r"): Promise<string[]> {
  const app = createApp({ ...on, workflows: [] });
  const statuses: string[] = [];
  for (const payload of payloads)
    statuses.push((await on.world.run(app.send(runId, "note", payload))).status);
  return statuses;
}

describe("a message", () => {
  test("is read by a receive that waits for it, in another process", async () => {
    const on = lab();
    const flow = three.with(on);
    const first = await on.world.run(flow.run(undefined, { id: "r" }));
    expect(first).toMatchObject({
      status: "suspended",
      waiting: [{ key: "note", name: "note", topic: "note", token: "", expiresAt: null }],
      wakeAt: null,
    });
    expect(await sendAll(on, ["a", "b", "c"])).toEqual(["accepted", "accepted", "accepted"]);
    expect((await on.storage.list()).runs).toMatchObject([{ status: "running", wakeAt: 0 }]);
    expect(await on.world.run(flow.get("r").result())).toEqual(["a", "b", "c"]);
  });

  test("that comes before its receive is kept, and costs one append more than the message", async () => {
    const on = lab();
    const flow = three.with(on);
    await on.world.run(flow.start(undefined, { id: "r", drive: false }));
    await sendAll(on, ["a", "b", "c"]);
    const storage = countingStorage(on.storage);
    const app = createApp({ ...on, storage, workflows: [flow], bind: false });
    expect(outputOf(await on.world.run(app.advance("r")))).toEqual(["a", "b", "c"]);
    expect(storage.counts.appends).toBe(4);
    expect(await kindsOf(flow.get("r"))).toEqual([
      "run.started",
      "message.sent",
      "message.sent",
      "message.sent",
      "suspend.resolved note",
      "suspend.resolved note#2",
      "suspend.resolved note#3",
      "run.completed",
    ]);
  });

  test("of another topic waits for a receive of its own", async () => {
    const on = lab();
    const flow = durable("topics", async (ctx) => [
      await ctx.receive("b"),
      await ctx.receive("a"),
      await ctx.receive("b"),
    ]).with(on);
    await on.world.run(flow.run(undefined, { id: "r" }));
    const app = createApp({ ...on, workflows: [flow], bind: false });
    for (const [topic, payload] of [
      ["a", 1],
      ["b", 2],
      ["a", 3],
      ["b", 4],
    ] as const)
      await on.world.run(app.send("r", topic, payload));
    expect(await on.world.run(flow.get("r").result())).toEqual([2, 1, 4]);
  });

  test("keeps what values keep", async () => {
    const on = lab();
    const flow = durable("one", (ctx) => ctx.receive("note")).with(on);
    const run = await on.world.run(flow.start(undefined, { id: "r" }));
    const payload = { at: new Date(5), map: new Map([[1, undefined]]), big: 10n };
    await on.world.run(run.send("note", payload));
    expect(await on.world.run(run.result())).toEqual(payload);
  });

  test("wakes a run that is held in memory beside a long step", async () => {
    const on = lab();
    const flow = durable("beside", (ctx) =>
      ctx.parallel({
        work: (c) => c.step("work", () => pause(on.world, 60_000)),
        note: async (c) => {
          const got = await c.receive("note");
          return [got, await c.step("after", () => on.world.now())];
        },
      }),
    ).with(on);
    const begun = on.world.now();
    const run = await on.world.run(flow.start(undefined, { id: "r" }));
    await on.world.advance(1_000);
    const app = createApp({ ...on, workflows: [flow], bind: false });
    await on.world.run(app.send("r", "note", "hello"));
    const { note } = await on.world.run(run.result());
    expect(note[0]).toBe("hello");
    expect(Number(note[1]) - begun).toBeLessThan(20_000);
  });

  test("to an ended or unknown run is refused, and nothing is appended", async () => {
    const on = lab();
    const flow = durable("short", () => 1).with(on);
    await on.world.run(flow.run(undefined, { id: "r" }));
    const storage = countingStorage(on.storage);
    const app = createApp({ ...on, storage, workflows: [flow], bind: false });
    expect(await on.world.run(app.send("r", "note", 1))).toEqual({ status: "ended", repeated: false });
    await expect(on.world.run(app.send("none", "note", 1))).rejects.toMatchObject({ code: "not-found" });
    expect(storage.counts.appends).toBe(0);
  });

  test("reaches the new run of an id that was deleted and is used again", async () => {
    const on = lab();
    const flow = durable("one", (ctx) => ctx.receive("note")).with(on);
    const run = await on.world.run(flow.start(undefined, { id: "r" }));
    await on.world.run(run.send("note", "old", { id: "m" }));
    const app = createApp({ ...on, workflows: [flow], bind: false });
    await on.world.run(app.delete("r"));
    await expect(on.world.run(run.send("note", "gone"))).rejects.toMatchObject({ code: "not-found" });
    await on.world.run(flow.start(undefined, { id: "r" }));
    expect(await on.world.run(run.send("note", "new", { id: "m" }))).toEqual({
      status: "accepted",
      repeated: false,
    });
    expect(await on.world.run(flow.get("r").result())).toBe("new");
  });
});

describe("the id of a message", () => {
  test("makes it count once; other content under the id is a conflict", async () => {
    const on = lab();
    const flow = three.with(on);
    const run = await on.world.run(flow.start(undefined, { id: "r" }));
    const send = (payload: unknown, id?: string, topic = "note") =>
      on.world.run(run.send(topic, payload, { id }));
    expect(await send("a", "1")).toEqual({ status: "accepted", repeated: false });
    expect(await send("a", "1")).toEqual({ status: "accepted", repeated: true });
    expect(await send("b", "1")).toEqual({ status: "conflict", repeated: true });
    expect(await send("a", "1", "other")).toEqual({ status: "conflict", repeated: true });
    await send("b", "2");
    await send("b");
    expect(await on.world.run(run.result())).toEqual(["a", "b", "b"]);
    expect(await send("a", "1"), "also after the end").toEqual({ status: "accepted", repeated: true });
    expect(await send("c", "3")).toEqual({ status: "ended", repeated: false });
  });

  test.each(["", 7, "x".repeat(limits.messageIdLength + 1)])("%s is refused", async (id) => {
    const on = lab();
    const run = await on.world.run(three.with(on).start(undefined, { id: "r" }));
    await expect(run.send("note", 1, { id: id as string })).rejects.toMatchObject({ code: "invalid-id" });
  });

  test("two senders that lose to each other and to the driver send each message once", async () => {
    const on = lab();
    const total = 40;
    const flow = durable("many", async (ctx) => {
      const read: unknown[] = [];
      while (read.length < 2 * total) read.push(await ctx.receive("note"));
      return read;
    }).with(on);
    const run = await on.world.run(flow.start(undefined, { id: "r" }));
    const sender = async (name: string): Promise<void> => {
      const app = createApp({ ...on, workflows: [] });
      for (let n = 0; n < total; n++)
        for (let again = 0; again < 2; again++)
          await app.send("r", "note", `${name} ${n}`, { id: `${name} ${n}` });
    };
    await on.world.run(Promise.all([sender("a"), sender("b")]));
    const read = (await on.world.run(run.result())) as string[];
    for (const name of ["a", "b"])
      expect(read.filter((text) => text.startsWith(name))).toEqual(
        Array.from({ length: total }, (_, n) => `${name} ${n}`),
      );
  });
});

describe("a schema of messages", () => {
  const typed = durable("typed", async (ctx) => [await ctx.receive("count"), await ctx.receive("count")], {
    messages: { count: number },
  });

  test("is checked where the message is sent, and nothing is recorded of one that does not fit", async () => {
    const on = lab();
    const run = await on.world.run(typed.with(on).start(undefined, { id: "r" }));
    const before = (await run.entries()).length;
    expect(await on.world.run(run.send("count", "x"))).toEqual({
      status: "invalid",
      repeated: false,
      issues: "expected a number",
    });
    expect(await on.world.run(run.send("cuont" as "count", 1))).toMatchObject({
      status: "invalid",
      issues: expect.stringContaining("Topics: count"),
    });
    expect((await run.entries()).length).toBe(before);
    await on.world.run(run.send("count", 1));
    await on.world.run(run.send("count", "2"));
    expect(await on.world.run(run.result()), "the receive gets what the schema makes of it").toEqual([1, 2]);
  });

  test("a message from a process without the code is checked by the receive, which takes the next one", async () => {
    const on = lab();
    const flow = typed.with(on);
    await on.world.run(flow.run(undefined, { id: "r" }));
    const app = createApp({ ...on, workflows: [] });
    for (const payload of ["x", 1, {}, "2"])
      expect(await on.world.run(app.send("r", "count", payload))).toEqual({
        status: "accepted",
        repeated: false,
      });
    expect(await on.world.run(flow.get("r").result())).toEqual([1, 2]);
    expect((await kindsOf(flow.get("r"))).filter((kind) => kind.startsWith("suspend.re"))).toEqual([
      "suspend.rejected count",
      "suspend.resolved count",
      "suspend.rejected count#2",
      "suspend.resolved count#2",
    ]);
  });

  test("a message that the schema does not change is not recorded twice", async () => {
    const on = lab();
    const flow = typed.with(on);
    const run = await on.world.run(flow.start(undefined, { id: "r" }));
    await on.world.run(run.send("count", 1));
    await on.world.run(run.send("count", "2"));
    await on.world.run(run.result());
    const resolved = (await run.entries()).filter(({ kind }) => kind === "suspend.resolved");
    expect(resolved.map((entry) => ("value" in entry ? entry.value : null))).toEqual([null, 2]);
  });
});

describe("ctx.receive with a timeout", () => {
  const waits = (timeout: number) =>
    durable("waits", async (ctx) => {
      try {
        return await ctx.receive("note", { timeout });
      } catch (error) {
        return (error as { code?: string }).code;
      }
    });

  test("fails with suspend-expired, and result() waits for that", async () => {
    const on = lab();
    const flow = waits(90_000).with(on);
    const run = await on.world.run(flow.start(undefined, { id: "r" }));
    expect(await on.world.run(run.result())).toBe("suspend-expired");
  });

  test("without one, result() rejects with suspended", async () => {
    const on = lab();
    const run = await on.world.run(three.with(on).start(undefined, { id: "r" }));
    await expect(on.world.run(run.result())).rejects.toMatchObject({
      code: "suspended",
      message: expect.stringContaining("run.send"),
    });
  });

  test("gives the fallback", async () => {
    const on = lab();
    const flow = durable("falls", (ctx) => ctx.receive("note", { timeout: "1h", fallback: "none" })).with(on);
    const run = await on.world.run(flow.start(undefined, { id: "r" }));
    expect(await on.world.run(run.result())).toBe("none");
  });

  test("a message that is recorded before the timeout wins, also when the timeout was queued first", async () => {
    // The message is appended just before each append of the driver in turn: of the open wait, the park, the timeout. The
    // first append records the run.
    for (let append = 2; append <= 6; append++) {
      const on = lab(append);
      const app = createApp({ ...on, workflows: [] });
      let count = 0;
      const storage = hooked(on.storage, async (operation, moment) => {
        if (operation === "append" && moment === "before" && ++count === append)
          await app.send("r", "note", "in time");
      });
      const flow = waits(20_000).with({ ...on, storage });
      const run = await on.world.run(flow.start(undefined, { id: "r" }));
      const output = await on.world.run(run.result());
      const entries = await flow.get("r").entries();
      const at = (kind: string): number => entries.find((entry) => entry.kind === kind)?.seq ?? Infinity;
      const first = at("message.sent") < at("suspend.expired") && Number.isFinite(at("message.sent"));
      expect(output, `append ${append}`).toBe(first ? "in time" : "suspend-expired");
      expect(first && Number.isFinite(at("suspend.expired"))).toBe(false);
    }
  });
});

describe("a receive in a race", () => {
  test("that loses leaves its message to the next one", async () => {
    // The other branch is answered from outside at the same moment in which the message arrives.
    for (let round = 0; round < 8; round++) {
      const on = lab(round + 1);
      const flow = durable("race", async (ctx) => {
        const winner = await ctx.race({
          note: (c) => c.receive("note", { schema: slow(on, round * 5) }),
          stop: (c) => c.suspend("stop"),
        });
        return winner.name === "note" ? ["note", winner.value] : ["stop", await ctx.receive("note")];
      }).with(on);
      const outcome = await on.world.run(flow.run(undefined, { id: "r" }));
      const app = createApp({ ...on, workflows: [flow], bind: false });
      await on.world.run(
        Promise.all([
          app.send("r", "note", "kept"),
          app.resume(tokenOf(outcome, "race[stop]/stop"), 1, { drive: false }),
        ]),
      );
      expect((await on.world.run(flow.get("r").result()))[1]).toBe("kept");
    }
  });

  function slow(on: Lab, ms: number): StandardSchema {
    const validate = async (value: unknown) => {
      await pause(on.world, ms);
      return { value };
    };
    return { "~standard": { version: 1, vendor: "test", validate } };
  }
});

describe("ctx.messages", () => {
  test("gives the messages of a topic, one after the other, until none comes in time", async () => {
    const on = lab();
    const flow = durable("all", async (ctx) => {
      const read: unknown[] = [];
      for await (const message of ctx.messages("note", { timeout: "1h" })) {
        if (message === "skip") continue;
        read.push(await ctx.step("handle", () => `${message}!`));
      }
      return read;
    }).with(on);
    const run = await on.world.run(flow.start(undefined, { id: "r" }));
    for (const payload of ["a", "skip", "b"]) await on.world.run(run.send("note", payload));
    expect(await on.world.run(run.result())).toEqual(["a!", "b!"]);
  });

  test("ends with a break", async () => {
    const on = lab();
    const flow = durable("first", async (ctx) => {
      for await (const message of ctx.messages<number>("note")) if (message > 2) return message;
      return 0;
    }).with(on);
    const run = await on.world.run(flow.start(undefined, { id: "r" }));
    await sendAll(on, [1, 2, 3, 4]);
    expect(await on.world.run(run.result())).toBe(3);
  });
});

describe("chapters", () => {
  interface State {
    readonly read: readonly unknown[];
  }
  const chapters = durable("chapters", async (ctx, { read }: State): Promise<readonly unknown[]> => {
    const next = [...read, await ctx.receive("note")];
    return next.length === 5 ? next : ctx.continueAs({ read: next });
  });

  test("unread messages go on in their order", async () => {
    const on = lab();
    const flow = chapters.with(on);
    await on.world.run(flow.start({ read: [] }, { id: "r", drive: false }));
    await sendAll(on, [new Date(1), 2, 3, 4]);
    const suspended = await on.world.run(flow.run({ read: [] }, { id: "r" }));
    expect(suspended).toMatchObject({ status: "suspended" });
    await sendAll(on, [5]);
    expect(await on.world.run(flow.get("r").result())).toEqual([new Date(1), 2, 3, 4, 5]);
  });

  test("a message that arrives between the end of a chapter and its record is not lost", async () => {
    // Four times a verdict and the border, then the wait and the park.
    for (let append = 1; append <= 9; append++) {
      const on = lab(append);
      const app = createApp({ ...on, workflows: [] });
      let count = 0;
      const storage = hooked(on.storage, async (operation, moment) => {
        if (operation === "append" && moment === "before" && ++count === append)
          await app.send("r", "note", "late");
      });
      await on.world.run(chapters.with(on).start({ read: [] }, { id: "r", drive: false }));
      await sendAll(on, [1, 2, 3, 4]);
      await on.world.run(createApp({ ...on, storage, workflows: [chapters] }).advance("r"));
      expect(await on.world.run(chapters.with(on).get("r").result()), `append ${append}`).toEqual([
        1,
        2,
        3,
        4,
        "late",
      ]);
    }
  });

  test("ids are known in later chapters", async () => {
    const on = lab();
    const flow = chapters.with(on);
    const run = await on.world.run(flow.start({ read: [] }, { id: "r" }));
    const send = async (payload: unknown, id: string) => on.world.run(run.send("note", payload, { id }));
    for (const n of [1, 2, 3]) {
      await send(n, `m${n}`);
      await expect(on.world.run(run.result())).rejects.toMatchObject({ code: "suspended" });
    }
    expect([await send(1, "m1"), await send(9, "m2"), await send(4, "m4")]).toEqual([
      { status: "accepted", repeated: true },
      { status: "conflict", repeated: true },
      { status: "accepted", repeated: false },
    ]);
    await send(5, "m5");
    expect(await on.world.run(run.result())).toEqual([1, 2, 3, 4, 5]);
  });
});

describe("forks", () => {
  test("have read what they inherit, and read the rest again in its order", async () => {
    const on = lab();
    const flow = durable("forked", async (ctx) => {
      const read: unknown[] = [];
      for (let n = 0; n < 4; n++) {
        read.push(await ctx.receive("note"));
        await ctx.step(`step ${n}`, () => n);
      }
      return read;
    }).with(on);
    const run = await on.world.run(flow.start(undefined, { id: "r" }));
    await sendAll(on, ["a", "b", "c", "d"]);
    await on.world.run(run.result());
    const fork = await on.world.run(run.fork({ from: "step 1", id: "f" }));
    expect(await on.world.run(fork.result())).toEqual(["a", "b", "c", "d"]);
    const kinds = await kindsOf(fork);
    expect(kinds.filter((kind) => kind.startsWith("suspend.resolved"))).toHaveLength(4);
    const second = await on.world.run(fork.fork({ from: "step 2", id: "g" }));
    expect(await on.world.run(second.result()), "also in a fork of the fork").toEqual(["a", "b", "c", "d"]);
    const edited = await on.world.run(run.fork({ edit: { "note#2": "B" }, id: "e" }));
    expect(await on.world.run(edited.result()), "an edited one is read, too").toEqual(["a", "B", "c", "d"]);
  });

  test("of a chapter have its unread messages", async () => {
    const on = lab();
    const flow = durable("chaptered", async (ctx, n: number): Promise<unknown> => {
      if (n === 1) {
        await ctx.receive("note");
        return ctx.continueAs(2);
      }
      await ctx.step("before", () => 1);
      return [await ctx.receive("note"), await ctx.receive("note")];
    }).with(on);
    const run = await on.world.run(flow.start(1, { id: "r" }));
    await sendAll(on, ["a", "b", "c"]);
    expect(await on.world.run(run.result())).toEqual(["b", "c"]);
    const fork = await on.world.run(run.fork({ after: "before", id: "f" }));
    expect(await on.world.run(fork.result())).toEqual(["b", "c"]);
  });
});

test("a crash at every point loses no message, and reads none twice", { timeout: 300_000 }, async () => {
  const effects = recorder();
  const flow = durable("crashes", async (ctx, read: readonly unknown[]): Promise<readonly unknown[]> => {
    const won = await ctx.race({
      note: (c) => c.receive("note"),
      late: (c) => c.sleep("1 day"),
    });
    const next = [...read, won.value, await ctx.receive("more", { timeout: "2 days", fallback: "none" })];
    await ctx.step("use", ({ idempotencyKey }) =>
      effects.record("use", { key: idempotencyKey, payload: next }),
    );
    return next.length === 4 ? next : ctx.continueAs(next);
  });
  const report = await crashEverywhere(flow, {
    input: [],
    resume: { note: "n", more: (point: SuspendPoint) => `${point.topic}!` },
    effects,
    faults: inject("full") ? ["crash-before", "crash-after", "lose-reply"] : ["crash-after"],
  });
  expect(report.ok).toBe(true);
  expect(outputOf(report.calm.outcome)).toEqual(["n", "more!", "n", "more!"]);
});

describe("limits", () => {
  test("unread messages are bounded", async () => {
    const on = lab();
    const flow = durable("deaf", (ctx) => ctx.suspend("ask")).with(on);
    const outcome: Outcome<unknown> = await on.world.run(flow.run(undefined, { id: "r" }));
    expect(outcome.status).toBe("suspended");
    const journal = await RunJournal.open(locatorOf("r"), on);
    const facts = Array.from({ length: limits.unreadMessages }, (_, value) =>
      writeFact({ kind: "message.sent", topic: "note", value }, on.world.now()),
    );
    await journal?.append(facts, { outside: true });
    await expect(sendAll(on, [1])).rejects.toMatchObject({
      code: "limit",
      message: expect.stringContaining("Run r has 1000 messages"),
    });
  });

  test("a message that is too large, or cannot be kept, is refused with its topic and run", async () => {
    const on = lab();
    const run = await on.world.run(three.with(on).start(undefined, { id: "r" }));
    await expect(run.send("note", "x".repeat(limits.messageBytes + 1))).rejects.toMatchObject({
      message: expect.stringContaining('message "note" to run r'),
    });
    await expect(run.send("note", () => {})).rejects.toMatchObject({ code: "not-serializable" });
    await expect(run.send("a/b", 1)).rejects.toMatchObject({ code: "invalid-name" });
  });
});
