import { faultyStorage } from "@durable/testing";
import { describe, expect, test } from "vitest";
import { outputOf, runId, stage, tokenOf, type Code, type Stage } from "../support/order-stage.ts";

/** `a1` was computed by version 1 of the code, `d2` by version 2. */
const v1: Code = async (ctx, say) => [
  await say("a"),
  await say("b"),
  await say("c"),
  await ctx.suspend("review"),
  await say("d"),
];

interface Change {
  readonly change: string;
  readonly code: Code;
  readonly output: unknown;
  readonly ran: readonly string[];
  readonly orphans?: readonly string[];
  /** A new call, and the record that it may be a rename of. */
  readonly unsure?: readonly [asked: string, old: string];
}

/** The code of version 2 for a list of names; `review` is the wait. */
const steps =
  (...names: readonly string[]): Code =>
  async (ctx, say) => {
    const seen: unknown[] = [];
    for (const name of names) seen.push(name === "review" ? await ctx.suspend("review") : await say(name));
    return seen;
  };

const changes: readonly Change[] = [
  {
    change: "nothing changed",
    code: v1,
    output: ["a1", "b1", "c1", "yes", "d2"],
    ran: ["d"],
  },
  {
    change: "a step inserted first",
    code: steps("x", "a", "b", "c", "review", "d"),
    output: ["x2", "a1", "b1", "c1", "yes", "d2"],
    ran: ["x", "d"],
    unsure: ["x", "a"],
  },
  {
    change: "a step inserted before the wait",
    code: steps("a", "b", "c", "x", "review", "d"),
    output: ["a1", "b1", "c1", "x2", "yes", "d2"],
    ran: ["x", "d"],
  },
  {
    change: "a step inserted after the wait",
    code: steps("a", "b", "c", "review", "x", "d"),
    output: ["a1", "b1", "c1", "yes", "x2", "d2"],
    ran: ["x", "d"],
  },
  {
    change: "a step appended",
    code: steps("a", "b", "c", "review", "d", "x"),
    output: ["a1", "b1", "c1", "yes", "d2", "x2"],
    ran: ["d", "x"],
  },
  {
    change: "a step that had not been reached removed",
    code: steps("a", "b", "c", "review"),
    output: ["a1", "b1", "c1", "yes"],
    ran: [],
  },
  {
    change: "a recorded step removed",
    code: steps("a", "c", "review", "d"),
    output: ["a1", "c1", "yes", "d2"],
    ran: ["d"],
    orphans: ["b"],
  },
  {
    change: "all recorded steps removed",
    code: steps("review", "d"),
    output: ["yes", "d2"],
    ran: ["d"],
    orphans: ["a", "b", "c"],
  },
  {
    change: "recorded steps reordered",
    code: steps("c", "b", "a", "review", "d"),
    output: ["c1", "b1", "a1", "yes", "d2"],
    ran: ["d"],
  },
  {
    change: "a recorded step moved behind the wait, and a later one before it",
    code: steps("a", "d", "c", "review", "b"),
    output: ["a1", "d2", "c1", "yes", "b1"],
    ran: ["d"],
    unsure: ["d", "b"],
  },
  {
    change: "a recorded step renamed",
    code: steps("a", "draft", "c", "review", "d"),
    output: ["a1", "draft2", "c1", "yes", "d2"],
    ran: ["draft", "d"],
    orphans: ["b"],
    unsure: ["draft", "b"],
  },
  {
    change: "recorded steps asked for side by side",
    code: async (ctx, say) => [
      await Promise.all([say("c"), say("a"), say("x"), say("b")]),
      await ctx.suspend("review"),
    ],
    output: [["c1", "a1", "x2", "b1"], "yes"],
    ran: ["x"],
  },
  {
    change: "recorded steps moved into branches, where they have other keys",
    code: async (ctx, say) => [
      await ctx.parallel({ one: (c) => say("a", {}, c), two: (c) => say("b", {}, c) }),
      await ctx.suspend("review"),
    ],
    output: [{ one: "a2", two: "b2" }, "yes"],
    ran: ["a", "b"],
    orphans: ["a", "b", "c"],
  },
];

/** Two ways for an answer to reach the new code. */
const ways = {
  "resume with code": async (at: Stage, code: Code, token: string) =>
    (await at.world.run(at.flow(code).resume(token, "yes"))).outcome,
  "deliver, then sweep": async (at: Stage, code: Code, token: string) => {
    const app = at.app(code);
    expect(await app.resume(token, "yes", { drive: false })).toMatchObject({ status: "accepted" });
    return (await at.world.run(app.sweep())).outcomes[0];
  },
};

describe.each(Object.entries(ways))("a run parked on version 1, %s", (_, answer) => {
  test.each(changes)("$change", async ({ code, output, ran, orphans = [], unsure }) => {
    const at = stage();
    const token = tokenOf(await at.run(v1, 1), "review");
    expect(at.ran()).toEqual(["a", "b", "c"]);
    expect(outputOf(await answer(at, code, token))).toEqual(output);
    expect(at.ran()).toEqual(ran);
    expect(await at.orphans()).toEqual(orphans);
    const ended = `run ${runId} ended with ${orphans.length} recorded result(s) that the code did not use: ${orphans.join(", ")}. For a renamed step, pass { was: "old name" }.`;
    const [asked, old] = unsure ?? [];
    const doubt = `run ${runId} has no record of the step "${asked}", so it runs, and the recorded step "${old}" was not asked for yet. If it was renamed, pass { was: "${old}" }; if it is new work, { was: null }.`;
    expect(at.world.warnings).toEqual([
      ...(unsure === undefined ? [] : [doubt]),
      ...(orphans.length === 0 ? [] : [ended]),
    ]);
  });
});

test.each(changes)("a run whose driver died in the middle of version 1: $change", async (change) => {
  const at = stage();
  const dying = faultyStorage(at.storage, {
    world: at.world,
    // The start, a and b are recorded; the driver that recorded b dies before the reply.
    plan: (operation, index) => (operation === "append" && index === 3 ? "crash-after" : null),
  });
  void at.flow(v1, 1, dying).run(null, { id: runId });
  await at.world.run(dying.died);
  expect(at.ran()).toEqual(["a", "b"]);
  await at.world.advance(60_000);
  const token = tokenOf(await at.run(change.code), "review");
  const [outcome] = [(await at.world.run(at.flow(change.code).resume(token, "yes"))).outcome];
  // c was never recorded under version 1: wherever the new code has it, it runs now.
  const again = (value: unknown): unknown =>
    value === "c1" ? "c2" : Array.isArray(value) ? value.map(again) : value;
  expect(outputOf(outcome)).toEqual(again(change.output));
  expect(at.ran().toSorted()).toEqual(
    [...change.ran, ...(JSON.stringify(change.output).includes("c1") ? ["c"] : [])].toSorted(),
  );
  expect(await at.orphans()).toEqual((change.orphans ?? []).filter((key) => key !== "c"));
});

describe("a wait inserted", () => {
  const before =
    (was?: null): Code =>
    async (ctx, say) => [
      await say("a"),
      await say("b"),
      await say("c"),
      await ctx.suspend("legal", { was }),
      await ctx.suspend("review"),
      await say("d"),
    ];
  const all = ["a1", "b1", "c1", "fine", "kept", "d2"];

  // The code waits for another name, so nothing shows whether it will ever ask for this one.
  test("before the open one, and open: the run is blocked until the new one is answered", async () => {
    const at = stage();
    const token = tokenOf(await at.run(v1, 1), "review");
    const parked = await at.run(before());
    const early = await at.world.run(at.flow(before()).resume(token, "kept"));
    expect(early).toMatchObject({ status: "accepted", outcome: { status: "blocked" } });
    const last = await at.world.run(at.flow(before()).resume(tokenOf(parked, "legal"), "fine"));
    expect(outputOf(last.outcome)).toEqual(all);
  });

  test("before the open one, and new: the run is blocked until the code says that it is new", async () => {
    const at = stage();
    const token = tokenOf(await at.run(v1, 1), "review");
    const { outcome } = await at.world.run(at.flow(before()).resume(token, "kept"));
    expect(outcome?.status === "blocked" && outcome.error.message).toContain(
      'If "legal" is new and comes first, pass { was: null } to it',
    );
    const parked = await at.run(before(null));
    expect(parked).toMatchObject({ status: "suspended", waiting: [{ name: "legal" }] });
    const last = await at.world.run(at.flow(before(null)).resume(tokenOf(parked, "legal"), "fine"));
    expect(outputOf(last.outcome)).toEqual(all);
  });

  test("as a sleep, before the open one", async () => {
    const at = stage();
    const slow: Code = async (ctx, say) => [
      await ctx.sleep("1 day"),
      await ctx.suspend("review"),
      await say("d"),
    ];
    const token = tokenOf(await at.run(v1, 1), "review");
    const first = await at.world.run(at.flow(slow).resume(token, "kept"));
    expect(first).toMatchObject({ status: "accepted", outcome: { status: "suspended", waiting: [] } });
    await at.world.advance(24 * 3_600_000);
    const [last] = (await at.world.run(at.app(slow).sweep())).outcomes;
    expect(outputOf(last)).toEqual([undefined, "kept", "d2"]);
    expect(await at.orphans()).toEqual(["a", "b", "c"]);
  });
});

describe("parked in a sleep of three days", () => {
  const three = 3 * 24 * 3_600_000;
  const sleeping: Code = async (ctx, say) => [await say("a"), await ctx.sleep("3 days"), await say("b")];
  const cases: readonly Change[] = [
    {
      change: "steps inserted around it",
      code: async (ctx, say) => [
        // The only recorded step has the same source text.
        await say("x", { was: null }),
        await say("a"),
        await say("y"),
        await ctx.sleep("3 days"),
        await say("z"),
        await say("b"),
      ],
      output: ["x2", "a1", "y2", undefined, "z2", "b2"],
      ran: ["x", "y", "z", "b"],
    },
    {
      change: "the step before it removed",
      code: async (ctx, say) => [await ctx.sleep("3 days"), await say("b")],
      output: [undefined, "b2"],
      ran: ["b"],
      orphans: ["a"],
    },
    {
      change: "the sleep removed",
      code: async (_, say) => [await say("a"), await say("b")],
      output: ["a1", "b2"],
      ran: ["b"],
    },
    {
      change: "the sleep moved into the background",
      code: async (ctx, say) => {
        const slept = ctx.sleep("3 days");
        return [await say("a"), await say("b"), await slept];
      },
      output: ["a1", "b2", undefined],
      ran: ["b"],
    },
  ];

  test.each(cases)("$change", async ({ code, output, ran, orphans = [] }) => {
    const at = stage();
    const begun = at.world.now();
    expect(await at.run(sleeping, 1)).toMatchObject({ status: "suspended", wakeAt: begun + three });
    at.ran();
    await at.world.advance(three);
    const { outcomes } = await at.world.run(at.app(code).sweep());
    expect(outcomes.map(outputOf)).toEqual([output]);
    expect(at.ran()).toEqual(ran);
    expect(await at.orphans()).toEqual(orphans);
  });

  test("new code that comes early sleeps on to the recorded time", async () => {
    const at = stage();
    const begun = at.world.now();
    await at.run(sleeping, 1);
    await at.world.advance(three - 1_000);
    expect(await at.run(cases[0]!.code)).toMatchObject({ status: "suspended", wakeAt: begun + three });
    await at.world.advance(1_000);
    expect(outputOf(await at.run(cases[0]!.code))).toEqual(cases[0]!.output);
  });
});

test("ctx.version stays what was recorded at the start", async () => {
  const at = stage();
  const code: Code = async (ctx) => [ctx.version, await ctx.suspend("review"), ctx.version];
  const token = tokenOf(await at.run(code, 1), "review");
  const { outcome } = await at.world.run(at.flow(code, 7).resume(token, "yes"));
  expect(outputOf(outcome)).toEqual(["v1", "yes", "v1"]);
});
