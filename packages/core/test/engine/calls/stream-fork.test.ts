import { durable, fork } from "@durable/core";
import { describe, expect, test } from "vitest";
import { failureOf, lab, pause } from "../../support/behaviour-lab.ts";
import { batchesOf, dieAt, runOf } from "../../support/behaviour-lives.ts";
import { chunksOf, range, readAll, wholeOf } from "../../support/stream-lab.ts";

describe("forks", () => {
  /** Two streams, of which the second is cut off by the fork; `calls` has every attempt of a producer. */
  function forked() {
    const on = lab();
    const calls: string[] = [];
    const producer = (name: string) =>
      async function* ({ attempt }: { attempt: number }) {
        calls.push(`${name} ${attempt}`);
        for (const n of range(3)) {
          yield `${name}${n} of ${attempt}`;
          await pause(on.world, 150);
        }
      };
    const flow = durable("forked", async (ctx) => {
      const plan = await ctx.stream("plan", producer("plan"));
      const draft = await ctx.stream("draft", producer("draft"));
      return { plan, draft, note: await ctx.step("note", () => draft.length + plan.length) };
    });
    const of = (name: string, attempt = 1) => range(3).map((n) => `${name}${n} of ${attempt}`);
    return { on, flow, bound: flow.with({ ...on }), calls, of };
  }

  test("H44 keep finished streams whole, and readers of the fork see them", async () => {
    const { on, flow, bound, calls, of } = forked();
    await runOf(on, flow);
    const parent = await batchesOf(on);
    const made = await on.world.run(bound.fork("r", { from: "draft", id: "f" }));
    expect(await on.world.run(made.result())).toEqual({ plan: of("plan"), draft: of("draft"), note: 6 });
    expect(calls, "only what was gone back to ran again").toEqual(["plan 1", "draft 1", "draft 1"]);
    expect(await on.world.run(readAll(made.stream("plan")))).toEqual(wholeOf(of("plan")));
    expect(await on.world.run(readAll(made.stream("draft")))).toEqual(wholeOf(of("draft")));
    expect(await batchesOf(on), "the parent is as it was").toEqual(parent);
  });

  test("H44 drop unfinished streams: the fork's own begins with number 1 and no chunk of the parent's", async () => {
    const { on, flow, bound, calls, of } = forked();
    // Start, three chunks of the plan, its end with the first of the draft, and one more.
    await dieAt(on, flow, 7);
    expect((await chunksOf(bound.get("r"), "draft")).length).toBeGreaterThan(0);
    const made = await on.world.run(fork(bound.get("r"), { after: "plan", id: "f" }));
    expect(await on.world.run(readAll(made.stream("draft")))).toEqual(wholeOf(of("draft")));
    expect(await on.world.run(made.result())).toEqual({ plan: of("plan"), draft: of("draft"), note: 6 });
    expect(calls).toEqual(["plan 1", "draft 1", "draft 1"]);
    expect((await chunksOf(made, "plan")).flatMap(({ chunks }) => chunks)).toEqual(of("plan"));
  });

  test("may replace a stream by a list of chunks: workflow and reader see that list and nothing else", async () => {
    for (const edited of [["x"], [], range(7), [new Date(3), undefined]]) {
      const { on, flow, bound, of } = forked();
      await runOf(on, flow);
      const made = await on.world.run(bound.fork("r", { edit: { plan: edited }, id: "f" }));
      expect(await on.world.run(made.result())).toEqual({
        plan: edited,
        draft: of("draft"),
        note: 3 + edited.length,
      });
      expect(await on.world.run(readAll(made.stream("plan")))).toEqual(wholeOf(edited));
      const again = await on.world.run(fork(made, { from: "note", id: "ff" }));
      expect(await on.world.run(readAll(again.stream("plan"))), "nor in a fork of the fork").toEqual(
        wholeOf(edited),
      );
    }
  });

  test("may replace a stream that took two attempts, or was never finished", async () => {
    const { on, flow, bound, of } = forked();
    await dieAt(on, flow, 3);
    expect((await chunksOf(bound.get("r"), "plan")).length).toBe(2);
    const open = await on.world.run(bound.fork("r", { edit: { plan: ["open"] }, id: "open" }));
    expect(await on.world.run(readAll(open.stream("plan")))).toEqual(wholeOf(["open"]));
    expect(await on.world.run(open.result())).toMatchObject({ plan: ["open"], draft: of("draft") });
    await runOf(on, flow);
    const made = await on.world.run(bound.fork("r", { edit: { plan: ["other"] }, id: "f" }));
    expect(await on.world.run(readAll(made.stream("plan")))).toEqual(wholeOf(["other"]));
    expect(await on.world.run(made.result())).toMatchObject({ plan: ["other"] });
  });

  test.each([
    ["a text", "x"],
    ["an object", { 0: "x", length: 1 }],
    ["nothing", null],
  ])("refuse %s in place of the list", async (_, edited) => {
    const { on, flow, bound } = forked();
    await runOf(on, flow);
    const error = await failureOf(on.world.run(bound.fork("r", { edit: { plan: edited }, id: "f" })));
    expect(error).toMatchObject({
      code: "invalid-options",
      message: '"plan" of run r is a stream. Edit it with an array of its chunks.',
    });
    expect((await on.storage.list()).runs.map(({ runId }) => runId)).toEqual(["r"]);
  });
});
