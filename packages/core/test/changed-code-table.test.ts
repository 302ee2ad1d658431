/** Changes of code under a parked run: the engine, `replayRun`, a plan and golden journals say the same. */

import { createApp, durable, type Context, type Outcome } from "@durable/core";
import { replayRun } from "@durable/core/inspect";
import { recordGolden, replayGolden } from "@durable/testing";
import { describe, expect, inject, test } from "vitest";
import { lab, secret, tokenOf } from "./support/behaviour-lab.ts";

type Body = (ctx: Context, did: (what: string) => void) => Promise<unknown>;

interface Row {
  readonly change: string;
  readonly was: Body;
  readonly now: Body;
  /** What the next advance does. `later`: it is blocked only once new work has run. */
  readonly engine: "goes on" | "blocked" | "later";
  readonly replay: "same" | "changed" | "unsure" | "diverged";
}

const pay = (ctx: Context, did: (what: string) => void, name: string, was?: string | null) =>
  ctx.step(name, ({ idempotencyKey }) => did(idempotencyKey.slice(0, 0) + name), { was });
const note = (ctx: Context, did: (what: string) => void, name: string, options: object = {}) =>
  ctx.step(name, () => did(name), options);

const plain: Body = async (ctx, did) => {
  await note(ctx, did, "a");
  await note(ctx, did, "b");
  await pay(ctx, did, "charge");
  await ctx.suspend("ok");
  return note(ctx, did, "end");
};

const rows: readonly Row[] = [
  { change: "nothing", was: plain, now: plain, engine: "goes on", replay: "same" },
  {
    change: "a step inserted at the front",
    was: plain,
    now: async (ctx, did) => {
      await note(ctx, did, "x", { was: null });
      return plain(ctx, did);
    },
    engine: "goes on",
    replay: "changed",
  },
  {
    change: "a step removed",
    was: plain,
    now: async (ctx, did) => {
      await note(ctx, did, "a");
      await pay(ctx, did, "charge");
      return ctx.suspend("ok");
    },
    engine: "goes on",
    replay: "changed",
  },
  {
    change: "steps reordered",
    was: plain,
    now: async (ctx, did) => {
      await pay(ctx, did, "charge");
      await note(ctx, did, "b");
      await note(ctx, did, "a");
      return ctx.suspend("ok");
    },
    engine: "goes on",
    replay: "same",
  },
  {
    change: "a paid step renamed",
    was: plain,
    now: async (ctx, did) => {
      await note(ctx, did, "a");
      await note(ctx, did, "b");
      await pay(ctx, did, "charge-card");
      return ctx.suspend("ok");
    },
    engine: "blocked",
    replay: "diverged",
  },
  {
    change: "a paid step renamed, with was",
    was: plain,
    now: async (ctx, did) => {
      await note(ctx, did, "a");
      await note(ctx, did, "b");
      await pay(ctx, did, "charge-card", "charge");
      return ctx.suspend("ok");
    },
    engine: "goes on",
    replay: "same",
  },
  {
    change: "the declared input",
    was: async (ctx, did) => [await note(ctx, did, "a", { input: 1 }), await ctx.suspend("ok")],
    now: async (ctx, did) => [await note(ctx, did, "a", { input: 2 }), await ctx.suspend("ok")],
    engine: "blocked",
    replay: "diverged",
  },
  {
    change: "the length of a sleep",
    was: async (ctx) => [await ctx.sleep("1 day"), await ctx.suspend("ok")],
    now: async (ctx) => [await ctx.sleep("2 days"), await ctx.suspend("ok")],
    engine: "blocked",
    replay: "diverged",
  },
  {
    change: "the branches of a group",
    was: (ctx) => ctx.parallel({ one: (c) => c.suspend("ok") }),
    now: (ctx) => ctx.parallel({ one: (c) => c.suspend("ok"), two: () => 1 }),
    engine: "blocked",
    replay: "diverged",
  },
  {
    change: "the open wait removed, and nothing after it",
    was: plain,
    now: async (ctx, did) => {
      await note(ctx, did, "a");
      await note(ctx, did, "b");
      await pay(ctx, did, "charge");
    },
    engine: "blocked",
    replay: "diverged",
  },
  {
    change: "the open wait removed, and a plain step after it",
    was: plain,
    now: async (ctx, did) => {
      await note(ctx, did, "a");
      await note(ctx, did, "b");
      await pay(ctx, did, "charge");
      return note(ctx, did, "publish");
    },
    engine: "later",
    replay: "unsure",
  },
  {
    change: "the open wait removed, and a step with a compensation after it",
    was: plain,
    now: async (ctx, did) => {
      await note(ctx, did, "a");
      await note(ctx, did, "b");
      await pay(ctx, did, "charge");
      return note(ctx, did, "book", { compensate: () => {} });
    },
    engine: "blocked",
    replay: "diverged",
  },
  {
    change: "the race around the open wait removed, and a step with onUncertain after it",
    was: async (ctx) => ctx.race({ ask: (c) => c.suspend("ok"), late: (c) => c.sleep("30 days") }),
    now: async (ctx, did) => note(ctx, did, "book", { onUncertain: "retry" }),
    engine: "blocked",
    replay: "diverged",
  },
  {
    change: "one of two open waits removed",
    was: (ctx) => ctx.parallel({ one: (c) => c.suspend("first"), two: (c) => c.suspend("ok") }),
    now: (ctx) => ctx.parallel({ one: (c) => c.suspend("first"), two: () => 1 }),
    engine: "blocked",
    replay: "diverged",
  },
  {
    change: "the open wait renamed, or another inserted before it",
    was: plain,
    now: async (ctx, did) => {
      await note(ctx, did, "a");
      await note(ctx, did, "b");
      await pay(ctx, did, "charge");
      return ctx.suspend("legal");
    },
    engine: "goes on",
    replay: "unsure",
  },
  {
    change: "a wait inserted before the open one, said to be new",
    was: plain,
    now: async (ctx, did) => {
      await note(ctx, did, "a");
      await note(ctx, did, "b");
      await pay(ctx, did, "charge");
      await ctx.suspend("legal", { was: null });
      return ctx.suspend("ok");
    },
    engine: "goes on",
    replay: "changed",
  },
  {
    change: "a loop of 5 to 3",
    was: async (ctx, did) => {
      for (let i = 0; i < 5; i++) await pay(ctx, did, "item");
      return ctx.suspend("ok");
    },
    now: async (ctx, did) => {
      for (let i = 0; i < 3; i++) await pay(ctx, did, "item");
      await ctx.suspend("ok");
      return pay(ctx, did, "mail");
    },
    engine: "goes on",
    replay: "changed",
  },
  {
    change: "a sibling renamed",
    was: (ctx, did) =>
      ctx.parallel({
        one: (c) => pay(c, did, "book"),
        two: async (c) => [await pay(c, did, "ship"), await c.suspend("ok")],
      }),
    now: (ctx, did) =>
      ctx.parallel({
        one: (c) => pay(c, did, "book"),
        two: async (c) => [await pay(c, did, "send"), await c.suspend("ok")],
      }),
    engine: "blocked",
    replay: "diverged",
  },
  {
    change: "new work for a newer version",
    was: plain,
    now: async (ctx, did) => {
      if (ctx.version === "1") return plain(ctx, did);
      return pay(ctx, did, "other");
    },
    engine: "goes on",
    replay: "same",
  },
];

async function parked(was: Body) {
  const on = lab();
  const done: string[] = [];
  const flow = (body: Body, version: string) =>
    durable("flow", (ctx: Context) => body(ctx, (what) => void done.push(what)), { version });
  const app = (body: Body, version = "2") =>
    createApp({ ...on, patience: 0, workflows: [flow(body, version)] });
  const outcome = await on.world.run(
    flow(was, "1")
      .with({ ...on, patience: 0 })
      .run(undefined, { id: "r" }),
  );
  expect(outcome.status).toBe("suspended");
  return { on, app, flow, outcome, done };
}

describe("every tool says what the engine then does", () => {
  test.each(rows)("$change", async ({ was, now, engine, replay }) => {
    const { on, app, flow, done } = await parked(was);
    const golden = await recordGolden(on.storage, "r");
    const before = [...done];
    const { verdict, error } = await on.world.run(replayRun(app(now), "r"));
    expect(verdict).toBe(replay);
    expect(error?.code).toBe(replay === "diverged" ? "diverged" : undefined);
    expect(done, "a replay runs nothing").toEqual(before);
    const report = await replayGolden(golden, { against: flow(now, "2"), report: true, secret });
    const [first] = report.journals;
    const driven: Outcome<unknown> = await on.world.run(app(now).advance("r"));
    expect(driven.status === "blocked").toBe(engine !== "goes on");
    if (engine === "blocked") {
      expect(done, "nothing ran").toEqual(before);
      expect(first?.verdict).toBe("diverged");
      expect(driven.status === "blocked" && driven.error.message).toBe(error?.message);
    }
    if (engine === "later") expect(first?.verdict).toMatch(/^would run/);
    if (replay === "same") expect(first?.verdict).toBe("replays");
    if (replay === "changed") expect(driven.status).not.toBe("blocked");
  });
});

describe("the plan of a fork", () => {
  const changed: Body = async (ctx, did) => {
    await note(ctx, did, "a");
    await note(ctx, did, "b");
    await pay(ctx, did, "charge-card");
    return ctx.suspend("ok");
  };

  test("is blocked when the fork is, and changes: allow lets both go on", async () => {
    const { on, app, done } = await parked(plain);
    const run = app(changed).get("r");
    const plan = await on.world.run(run.plan({ after: "charge" }));
    expect(plan.blocked).toMatchObject({
      code: "diverged",
      details: { key: "charge", asked: "charge-card" },
    });
    const fork = await on.world.run(run.fork({ after: "charge", id: "f1" }));
    await on.world.advance(5_000);
    expect((await on.world.run(fork.outcome())).status).toBe("blocked");
    expect(done).toEqual(["a", "b", "charge"]);
    const allowed = { after: "charge", changes: "allow" } as const;
    expect((await on.world.run(run.plan(allowed))).blocked).toBe(null);
    const free = await on.world.run(run.fork({ ...allowed, id: "f2" }));
    await on.world.advance(5_000);
    expect((await on.world.run(free.outcome())).status).toBe("suspended");
    expect(done).toEqual(["a", "b", "charge", "charge-card"]);
  });

  test("a retry that allows changes does not miss a wait that the code no longer has", async () => {
    const on = lab();
    const code = (waits: boolean) =>
      durable("flow", async (ctx: Context) => {
        if (!waits) return "over";
        void ctx.suspend("ok");
        await ctx.step("a", () => 1);
        throw new Error("no");
      });
    await on.world.run(
      code(true)
        .with({ ...on })
        .run(undefined, { id: "r" }),
    );
    const app = createApp({ ...on, workflows: [code(false)] });
    await on.world.run(app.get("r").retry({ drive: false, changes: "allow" }));
    expect((await on.world.run(app.advance("r"))).status).toBe("completed");
  });

  test("a retry may allow changes", async () => {
    const on = lab();
    const done: string[] = [];
    const fails = (name: string) =>
      durable("flow", async (ctx: Context) => {
        await pay(ctx, (what) => void done.push(what), name);
        if (name === "charge") throw new Error("no");
        return "over";
      });
    await on.world.run(
      fails("charge")
        .with({ ...on })
        .run(undefined, { id: "r" }),
    );
    const app = createApp({ ...on, workflows: [fails("charge-card")] });
    await on.world.run(app.get("r").retry({ drive: false, changes: "allow" }));
    expect((await on.world.run(app.advance("r"))).status).toBe("completed");
    expect(done).toEqual(["charge", "charge-card"]);
    await expect(app.get("r").retry({ changes: "yes" as never })).rejects.toMatchObject({
      code: "invalid-options",
    });
  });
});

// ---- random single edits ----

interface Node {
  readonly name: string;
  readonly kind: "pay" | "note" | "loop";
  readonly count: number;
}

type Named = Node & { readonly id: string };

type Edit = "rename" | "insert" | "remove" | "swap" | "loop";

function draw(seed: number): () => number {
  let state = seed * 2_654_435_761;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
}

/** Work with a source text of its own, as in a program that was written by hand. */
function workOf(
  node: Node,
  id: string,
): (did: (what: string) => void) => (info: { idempotencyKey: string }) => void {
  const key = node.kind === "note" ? "" : "info.idempotencyKey;";
  // oxlint-disable-next-line no-implied-eval
  return new Function("did", `return (info) => { ${key} did(${JSON.stringify(id)}); }`) as never;
}

function bodyOf(nodes: readonly Named[]): Body {
  return async (ctx, did) => {
    for (const node of nodes)
      for (let i = 0; i < node.count; i++) await ctx.step(node.name, workOf(node, `${node.id}.${i}`)(did));
    await ctx.suspend("ok");
    return ctx.step("end", workOf({ name: "end", kind: "note", count: 1 }, "end")(did));
  };
}

function edited(nodes: readonly Named[], random: () => number) {
  const at = Math.floor(random() * nodes.length);
  const edit = (["rename", "insert", "remove", "swap", "loop"] as const)[Math.floor(random() * 5)] as Edit;
  const node = nodes[at] as Named;
  const next = [...nodes];
  if (edit === "rename") next[at] = { ...node, name: `${node.name} anew` };
  if (edit === "insert")
    next.splice(at, 0, { name: "new", kind: random() < 0.5 ? "pay" : "note", count: 1, id: "new" });
  if (edit === "remove") next.splice(at, 1);
  if (edit === "swap") next.push(...next.splice(at, 1));
  if (edit === "loop") next[at] = { ...node, count: Math.max(1, node.count - 2) };
  return { edit, next, isBeforePaid: edit === "insert" && node.kind !== "note" };
}

async function oneEdit(seed: number) {
  const random = draw(seed);
  const nodes = Array.from({ length: 2 + Math.floor(random() * 5) }, (_, i) => {
    const kind = (["pay", "note", "loop"] as const)[Math.floor(random() * 3)] as Node["kind"];
    return { name: `s${i}`, kind, count: kind === "loop" ? 5 : 1, id: `n${i}` };
  });
  const { on, app, done, outcome } = await parked(bodyOf(nodes));
  const { edit, next, isBeforePaid } = edited(nodes, random);
  const code = app(bodyOf(next));
  const { verdict } = await on.world.run(replayRun(code, "r"));
  const driven = await on.world.run(code.advance("r"));
  expect(driven.status === "blocked", `seed ${seed}: ${edit}`).toBe(verdict === "diverged");
  if (driven.status !== "blocked") await on.world.run(code.resume(tokenOf(outcome), "yes"));
  const paid = new Set(nodes.filter(({ kind }) => kind !== "note").map(({ id }) => id));
  const twice = done.filter((what, i) => paid.has(what.split(".")[0]!) && done.indexOf(what) !== i);
  expect(twice, `seed ${seed}: ${edit} paid twice`).toEqual([]);
  return { edit, isBeforePaid, isBlocked: driven.status === "blocked" };
}

test("random single edits: no paid step runs twice, and only an insert before paid work is blocked in vain", async () => {
  const count = inject("full") ? 1_000 : 60;
  const tally: Record<string, number> = {};
  for (let seed = 1; seed <= count; seed++) {
    const { edit, isBeforePaid, isBlocked } = await oneEdit(seed);
    const what = isBeforePaid ? "insert before paid work" : edit;
    if (isBlocked) tally[what] = (tally[what] ?? 0) + 1;
    if (isBlocked) expect(["rename", "insert before paid work"], `seed ${seed}: ${edit}`).toContain(what);
    if (edit === "insert" && isBeforePaid) expect(isBlocked).toBe(true);
  }
  expect(Object.keys(tally).toSorted()).toEqual(["insert before paid work", "rename"]);
  if (count === 1_000) console.log(`blocked of ${count} edits: ${JSON.stringify(tally)}`);
}, 120_000);
