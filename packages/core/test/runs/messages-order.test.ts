import { createApp, durable, type Context, type StandardSchema } from "@durable/core";
import { describe, expect, test } from "vitest";
import { kindsOf, lab, pause, tokenOf, type Lab } from "../support/behaviour-lab.ts";
import { replayOf } from "../support/behaviour-lives.ts";

/** A check that takes as long as the message says. */
function slow(on: Lab, ms: number): StandardSchema {
  const validate = async (value: unknown) => {
    await pause(on.world, ms);
    return { value };
  };
  return { "~standard": { version: 1, vendor: "test", validate } };
}

async function send(on: Lab, ...payloads: readonly unknown[]): Promise<void> {
  const app = createApp({ ...on, workflows: [] });
  for (const payload of payloads) await on.world.run(app.send("r", "note", payload));
}

describe("several receives of one topic", () => {
  test("get the messages in the order of their calls", async () => {
    const on = lab();
    const flow = durable("many", (ctx) =>
      Promise.all([1, 2, 3].map((i) => ctx.receive("note", { schema: slow(on, 100 - 30 * i) }))),
    ).with(on);
    await on.world.run(flow.run(undefined, { id: "r" }));
    await send(on, "a", "b", "c");
    expect(await on.world.run(flow.get("r").result())).toEqual(["a", "b", "c"]);
  });

  test("two in a race: the one that loses takes no message, also when both were sent at once", async () => {
    const on = lab();
    const flow = durable("race", async (ctx) => {
      const first = await ctx.race({
        left: (c) => c.receive("note"),
        right: (c) => c.receive("note"),
      });
      return [first.name, first.value, await ctx.receive("note"), await ctx.receive("note")];
    });
    const bound = flow.with(on);
    await on.world.run(bound.run(undefined, { id: "r" }));
    await send(on, "a", "b", "c");
    expect(await on.world.run(bound.get("r").result())).toEqual(["left", "a", "b", "c"]);
    expect(await replayOf(on, flow)).toMatchObject({ output: ["left", "a", "b", "c"] });
  });

  test("one in a race with an answer that comes first takes no message", async () => {
    const on = lab();
    const flow = durable("race", async (ctx) => {
      const first = await ctx.race({
        note: (c) => c.receive("note", { schema: slow(on, 20) }),
        stop: (c) => c.suspend("stop"),
      });
      return [first.name, await ctx.receive("note")];
    }).with(on);
    const outcome = await on.world.run(flow.run(undefined, { id: "r" }));
    const app = createApp({ ...on, workflows: [] });
    await on.world.run(app.resume(tokenOf(outcome, "race[stop]/stop"), 1, { drive: false }));
    await send(on, "a");
    expect(await on.world.run(flow.get("r").result())).toEqual(["stop", "a"]);
  });

  // The branch with the first receive loses while the verdicts on both messages wait to be written.
  test.each([0, 30])(
    "after a lost race, the next open receive gets the message (check: %i ms)",
    async (ms) => {
      const on = lab();
      const seen: string[] = [];
      const receive = (c: Context): Promise<unknown> =>
        ms === 0 ? c.receive("note") : c.receive("note", { schema: slow(on, ms) });
      const flow = durable("race", async (ctx) => {
        const race = ctx.race({
          note: receive,
          stop: (c) => c.suspend("stop"),
        });
        const beside = receive(ctx).then((one) => seen.push(`beside ${one}`));
        const { name } = await race;
        seen.push(name);
        seen.push(`after ${await ctx.receive("note")}`);
        await beside;
        return seen.splice(0);
      });
      const bound = flow.with(on);
      const outcome = await on.world.run(bound.run(undefined, { id: "r" }));
      const app = createApp({ ...on, workflows: [] });
      await on.world.run(app.resume(tokenOf(outcome, "race[stop]/stop"), 1, { drive: false }));
      await send(on, "a", "b");
      const expected = ["stop", "beside a", "after b"];
      expect(await on.world.run(bound.get("r").result())).toEqual(expected);
      expect(await replayOf(on, flow)).toMatchObject({ output: expected });
      const read = (await kindsOf(bound.get("r"))).filter((kind) => kind.startsWith("suspend.resolved"));
      expect(read).toEqual([
        "suspend.resolved race[stop]/stop",
        "suspend.resolved note",
        "suspend.resolved note#2",
      ]);
    },
  );
});

describe("a timeout that has passed, beside a message that came before it", () => {
  test.each([0, 30])("does not overtake it, also behind an answer (check: %i ms)", async (ms) => {
    const on = lab();
    const flow = durable("late", (ctx) =>
      ctx.parallel({
        answer: (c) => c.suspend("ok"),
        mail: (c) =>
          c.race({
            first: (one) => (ms === 0 ? one.receive("note") : one.receive("note", { schema: slow(on, ms) })),
            second: (two) => two.receive("note", { timeout: "1h", fallback: "late" }),
          }),
      }),
    ).with(on);
    const outcome = await on.world.run(flow.run(undefined, { id: "r" }));
    const app = createApp({ ...on, workflows: [] });
    await app.resume(tokenOf(outcome, "parallel[answer]/ok"), "yes", { drive: false });
    await app.send("r", "note", "a");
    await on.world.advance(2 * 3_600_000);
    expect(await on.world.run(flow.get("r").result())).toMatchObject({
      answer: "yes",
      mail: { name: "first", value: "a" },
    });
  });
});
