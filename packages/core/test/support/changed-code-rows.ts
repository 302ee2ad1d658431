/** Changes of code under a parked run, and what the next advance then does. Every tool must say the same. */

import { durable, type Context } from "@durable/core";
import { durableModel } from "../../../ai-sdk/src/index.ts";
import { fakeModel } from "../../../ai-sdk/test/support/fake-model.ts";

export type Body = (ctx: Context, did: (what: string) => void) => Promise<unknown>;

export interface Row {
  readonly change: string;
  readonly was: Body;
  readonly now: Body;
  /** What the next advance does. `later`: it is blocked only once new work has run. */
  readonly engine: "goes on" | "blocked" | "later";
  readonly replay: "same" | "changed" | "unsure" | "diverged";
}

export const pay = (ctx: Context, did: (what: string) => void, name: string, was?: string | null) =>
  ctx.step(name, ({ idempotencyKey }) => did(idempotencyKey.slice(0, 0) + name), { was });
export const note = (ctx: Context, did: (what: string) => void, name: string, options: object = {}) =>
  ctx.step(name, () => did(name), options);

/** A stream whose source text is the same under every name. */
const said = (ctx: Context, did: (what: string) => void, name: string) =>
  ctx.stream(name, async function* () {
    did("a stream");
    yield "word";
  });
export const below = durable("below", async (_, input: number) => input);
async function asks(ctx: Context, did: (what: string) => void, system: string, onChange?: "keep") {
  const model = fakeModel(() => (did("asked"), "hello"));
  const user = { role: "user" as const, content: [{ type: "text" as const, text: "hi" }] };
  await durableModel(ctx, model, { onChange }).doGenerate({
    prompt: [{ role: "system", content: system }, user],
  });
  return ctx.suspend("ok");
}

export const plain: Body = async (ctx, did) => {
  await note(ctx, did, "a");
  await note(ctx, did, "b");
  await pay(ctx, did, "charge");
  await ctx.suspend("ok");
  return note(ctx, did, "end");
};

export const rows: readonly Row[] = [
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
  {
    change: "the work of a step",
    was: plain,
    now: async (ctx, did) => {
      await ctx.step("a", () => did("another a"));
      await note(ctx, did, "b");
      await pay(ctx, did, "charge");
      return ctx.suspend("ok");
    },
    engine: "goes on",
    replay: "same",
  },
  {
    change: "the options of steps and waits",
    was: plain,
    now: async (ctx, did) => {
      await note(ctx, did, "a", { retry: { attempts: 9 }, timeout: "1 minute" });
      await note(ctx, did, "b", {
        schema: { "~standard": { validate: () => ({ issues: [{ message: "no" }] }) } },
      });
      await pay(ctx, did, "charge");
      return ctx.suspend("ok", { note: "another question" });
    },
    engine: "goes on",
    replay: "same",
  },
  {
    change: "a stream with the same source text renamed",
    was: async (ctx, did) => [await said(ctx, did, "tell"), await ctx.suspend("ok")],
    now: async (ctx, did) => [await said(ctx, did, "say"), await ctx.suspend("ok")],
    engine: "blocked",
    replay: "diverged",
  },
  {
    change: "a child with the same input renamed",
    was: async (ctx) => [await ctx.child(below, 1, { name: "ask" }), await ctx.suspend("ok")],
    now: async (ctx) => [await ctx.child(below, 1, { name: "inquire" }), await ctx.suspend("ok")],
    engine: "blocked",
    replay: "diverged",
  },
  {
    change: "a spawn with the same input renamed",
    was: async (ctx) => [await ctx.spawn(below, 1, { name: "send" }), await ctx.suspend("ok")],
    now: async (ctx) => [await ctx.spawn(below, 1, { name: "post" }), await ctx.suspend("ok")],
    engine: "blocked",
    replay: "diverged",
  },
  ...["sleep", "suspend", "group"].map((kind): Row => ({
    change: `a step turned into a ${kind}`,
    was: plain,
    now: async (ctx) => {
      if (kind === "sleep") await ctx.sleep("1 day", { name: "a" });
      if (kind === "suspend") await ctx.suspend("a");
      if (kind === "group") await ctx.parallel({ one: () => 1 }, { name: "a" });
      return ctx.suspend("ok");
    },
    engine: "blocked",
    replay: "diverged",
  })),
  {
    change: "the system prompt of a model call",
    was: (ctx, did) => asks(ctx, did, "Be brief."),
    now: (ctx, did) => asks(ctx, did, "Be long."),
    engine: "blocked",
    replay: "diverged",
  },
  {
    change: "the system prompt of a model call, with onChange: keep",
    was: (ctx, did) => asks(ctx, did, "Be brief."),
    now: (ctx, did) => asks(ctx, did, "Be long.", "keep"),
    engine: "goes on",
    replay: "same",
  },
  {
    change: "a loop of 5 to 3, and no wait after it",
    was: async (ctx, did) => {
      for (let i = 0; i < 5; i++) await pay(ctx, did, "item");
      return ctx.suspend("ok");
    },
    now: async (ctx, did) => {
      for (let i = 0; i < 3; i++) await pay(ctx, did, "item");
      return pay(ctx, did, "mail");
    },
    engine: "blocked",
    replay: "diverged",
  },
  {
    change: "a paid step removed, with new work after the wait",
    was: plain,
    now: async (ctx, did) => {
      await note(ctx, did, "a");
      await note(ctx, did, "b");
      await ctx.suspend("ok");
      return pay(ctx, did, "mail");
    },
    engine: "goes on",
    replay: "changed",
  },
  {
    change: "a paid step removed from a branch, with new work after the wait",
    was: (ctx, did) =>
      ctx.parallel({
        one: (c) => pay(c, did, "book"),
        two: async (c) => [await pay(c, did, "ship"), await c.suspend("ok")],
      }),
    now: (ctx, did) =>
      ctx.parallel({
        one: (c) => pay(c, did, "book"),
        two: async (c) => [await c.suspend("ok"), await pay(c, did, "mail")],
      }),
    engine: "goes on",
    replay: "changed",
  },
];
