import { createApp, durable, type App } from "@durable/core";
import { MemoryBucket, RemoteStorage } from "@durable/core/remote";
import { virtualWorld } from "@durable/testing";
import { describe, expect, test } from "vitest";
import { createBudget, createConsumer, type Budget, type RunMessage } from "../src/index.ts";

const secret = "a secret for tests, of no worth";

interface Sent {
  readonly message: RunMessage;
  readonly delaySeconds: number;
}

/** A queue under the test's control: what was sent, and the result of each delivery. */
function stage() {
  const world = virtualWorld();
  const bucket = new MemoryBucket();
  const sent: Sent[] = [];
  const bodies: string[] = [];
  const flow = durable("flow", async (ctx, steps: number) => {
    const step = (name: string) => ctx.step(name, () => (bodies.push(name), name));
    for (let i = 0; i < steps; i++) await step(`s${i}`);
    const answer = await ctx.suspend<string>("ask", { timeout: "2 days" });
    await step("after");
    return answer;
  });
  const broken = durable("broken", (ctx) => ctx.step("s", () => Promise.reject(new Error("no"))));
  const appOf = (budget?: Budget): App => {
    const storage = new RemoteStorage(budget?.count(bucket) ?? bucket, { world });
    return createApp({ world, storage, secret, workflows: [flow, broken] });
  };
  const queue = {
    send: (message: RunMessage, { delaySeconds = 0 } = {}) =>
      Promise.resolve(void sent.push({ message, delaySeconds })),
  };
  const deliver = async (
    body: unknown,
    { attempts = 1, budget }: { attempts?: number; budget?: Budget } = {},
  ) => {
    const replies: string[] = [];
    const message = {
      id: `m${attempts}-${JSON.stringify(body)}`,
      body,
      attempts,
      ack: () => void replies.push("ack"),
      retry: ({ delaySeconds = 0 } = {}) => void replies.push(`retry ${delaySeconds}`),
    };
    const consumer = createConsumer(appOf(budget), { queue, ...(budget && { budget }) });
    await world.run(consumer.queue({ messages: [message] }));
    return replies;
  };
  /** Records a run that has no driver yet. */
  const record = async (id: string, steps: number): Promise<void> => {
    await world.run(appOf().start("flow", steps, { id, drive: false }));
  };
  return { world, bucket, sent, bodies, appOf, queue, deliver, record };
}

async function tokenOf({ world, appOf }: ReturnType<typeof stage>, id: string): Promise<string> {
  const outcome = await world.run(appOf().get(id).outcome());
  if (outcome.status !== "suspended") throw new Error(outcome.status);
  return outcome.waiting[0]!.token;
}

describe("the consumer", () => {
  test("drives a run, and sends itself a message for its deadline, up to the longest delay", async () => {
    const all = stage();
    await all.record("r", 2);
    all.sent.length = 0;
    expect(await all.deliver({ type: "advance", runId: "r" })).toEqual(["ack"]);
    expect(all.sent).toEqual([{ message: { type: "advance", runId: "r" }, delaySeconds: 86_400 }]);
    expect(await all.deliver({ type: "advance", runId: "r" }), "and again").toEqual(["ack"]);
    expect(all.bodies).toEqual(["s0", "s1"]);
  });

  test("H57 answers, then drives; the same message twice counts once, another answer is too late", async () => {
    const all = stage();
    await all.record("r", 1);
    await all.deliver({ type: "advance", runId: "r" });
    const token = await tokenOf(all, "r");
    const message = { type: "resume", token, value: "yes" };
    expect(await all.deliver(message)).toEqual(["ack"]);
    expect(await all.deliver(message, { attempts: 1 })).toEqual(["ack"]);
    expect(await all.deliver({ ...message, value: "no" })).toEqual(["ack"]);
    expect(await all.world.run(all.appOf().get("r").outcome())).toMatchObject({
      status: "completed",
      output: "yes",
    });
    expect(all.bodies).toEqual(["s0", "after"]);
  });

  test("hands a run on before its budget is spent, and repeats nothing", async () => {
    const all = stage();
    await all.record("r", 40);
    let invocations = 0;
    for (
      let next: Sent | undefined = { message: { type: "advance", runId: "r" }, delaySeconds: 0 };
      next?.delaySeconds === 0;
    ) {
      all.sent.length = 0;
      const budget = createBudget({ operations: 20 });
      expect(await all.deliver(next.message, { budget })).toEqual(["ack"]);
      invocations += 1;
      // Running work is recorded, the lease is released, and nothing more.
      expect(budget.operations).toBeLessThan(20 + 8);
      next = all.sent[0];
    }
    expect(all.bodies).toEqual(Array.from({ length: 40 }, (_, i) => `s${i}`));
    expect(invocations).toBeGreaterThan(2);
    expect(invocations).toBeLessThan(8);
    await tokenOf(all, "r");
  });

  test("a batch that comes when the budget is spent comes again", async () => {
    const all = stage();
    await all.record("r", 1);
    const budget = createBudget({ operations: 0 });
    await budget.count(all.bucket).get("anything");
    expect(await all.deliver({ type: "advance", runId: "r" }, { budget })).toEqual(["retry 0"]);
    expect(all.bodies).toEqual([]);
  });

  test("a run that is driven elsewhere is looked at again when its lease may be over", async () => {
    const all = stage();
    await all.record("r", 0);
    const { locator } = (await all.world.run(all.appOf().list())).runs[0]!;
    await new RemoteStorage(all.bucket, { world: all.world }).lease(locator, "another driver", 30_000);
    all.sent.length = 0;
    expect(await all.deliver({ type: "advance", runId: "r" })).toEqual(["ack"]);
    expect(all.sent).toEqual([{ message: { type: "advance", runId: "r" }, delaySeconds: 30 }]);
  });

  test("what cannot be done now comes back later each time; what is of another form is never acknowledged", async () => {
    const all = stage();
    expect(await all.deliver({ type: "advance", runId: "unknown" })).toEqual(["ack"]);
    for (const body of [
      null,
      "advance",
      {},
      { type: "advance" },
      { type: "resume", value: 1 },
      { type: "sweep" },
      { type: "stop", runId: "r" },
    ])
      expect(await all.deliver(body)).toEqual(["retry 2"]);
    expect(await all.deliver({}, { attempts: 5 })).toEqual(["retry 32"]);
    expect(await all.deliver({}, { attempts: 50 })).toEqual(["retry 300"]);
  });

  test("H28 with every message lost, the sweep finds what is due", async () => {
    const all = stage();
    const { world, appOf, queue } = all;
    await all.record("waits", 1);
    await all.deliver({ type: "advance", runId: "waits" });
    await world.run(appOf().resume(await tokenOf(all, "waits"), "yes", { drive: false }));
    all.sent.length = 0;
    const sweep = () => world.run(createConsumer(appOf(), { queue }).scheduled());
    expect(await sweep(), "its message may be under way").toBe(0);
    await world.advance(60_000);
    expect(await sweep()).toBe(1);
    expect(all.sent.map(({ message }) => message)).toEqual([{ type: "advance", runId: "waits" }]);
    await all.deliver(all.sent[0]!.message);
    expect(await sweep()).toBe(0);
    expect(await world.run(appOf().get("waits").outcome())).toMatchObject({ status: "completed" });
  });
});
