/** Calls under another name, in a run that is parked: what is blocked, what runs, and what is said about it. */

import { durable, type Context, type Outcome } from "@durable/core";
import { describe, expect, test } from "vitest";
import { lab, outputOf, tokenOf, type Lab } from "../support/behaviour-lab.ts";

type Body = (ctx: Context, ran: string[]) => Promise<unknown>;

interface Lives {
  readonly on: Lab;
  readonly parked: Outcome<unknown>;
  /** The next life, with this code. */
  next(
    body: Body,
    version?: string,
  ): Promise<{ outcome: Outcome<unknown>; ran: string[]; warnings: string[] }>;
  /** Answers the open wait, with this code. */
  answer(body: Body): Promise<{ outcome: Outcome<unknown> | undefined; ran: string[] }>;
}

async function parked(body: Body): Promise<Lives> {
  const on = lab();
  const flow = (code: Body, ran: string[]) =>
    durable("flow", (ctx: Context) => code(ctx, ran)).with({ ...on, patience: 0 });
  const first: string[] = [];
  const outcome = await on.world.run(flow(body, first).run(undefined, { id: "r" }));
  expect(outcome.status).toBe("suspended");
  return {
    on,
    parked: outcome,
    next: async (code) => {
      const ran: string[] = [];
      const before = on.world.warnings.length;
      const now = await on.world.run(flow(code, ran).run(undefined, { id: "r" }));
      return { outcome: now, ran, warnings: on.world.warnings.slice(before) };
    },
    answer: async (code) => {
      const ran: string[] = [];
      const { outcome: now } = await on.world.run(flow(code, ran).resume(tokenOf(outcome), "yes"));
      return { outcome: now, ran };
    },
  };
}

const blocked = (old: string, asked: string) => ({
  status: "blocked",
  error: { code: "diverged", details: { key: old, asked } },
});

/** Four ways in which a step is paid for. */
const paid: Record<
  string,
  (ctx: Context, name: string, ran: string[], was?: string | null) => Promise<unknown>
> = {
  "reads its idempotency key": (ctx, name, ran, was) =>
    ctx.step(name, ({ idempotencyKey }) => ran.push(`${name} ${idempotencyKey.length}`), { was }),
  "has onUncertain": (ctx, name, ran, was) =>
    ctx.step(name, () => ran.push(name), { onUncertain: "retry", was }),
  "has compensate": (ctx, name, ran, was) =>
    ctx.step(name, () => ran.push(name), { compensate: () => {}, was }),
  "has usage": (ctx, name, ran, was) =>
    ctx.step(
      name,
      ({ meter }) => {
        meter({ model: "m", inputTokens: 1, outputTokens: 1 });
        return ran.push(name);
      },
      { was },
    ),
};

describe.each(Object.entries(paid))("renames.2 a step that %s", (_, charge) => {
  const code =
    (name: string, was?: string | null): Body =>
    async (ctx, ran) => [await charge(ctx, name, ran, was), await ctx.suspend("ok")];

  test("and was renamed: blocked before anything begins, and nothing is written", async () => {
    const at = await parked(code("charge"));
    const batches = async () =>
      (await at.on.storage.read((await at.on.storage.list()).runs[0]!.locator)).batches;
    const before = await batches();
    const { outcome, ran } = await at.next(code("charge-card"));
    expect(outcome).toMatchObject(blocked("charge", "charge-card"));
    expect(outcome.status === "blocked" && outcome.error.message).toContain('{ was: "charge" }');
    expect(ran).toEqual([]);
    expect(await batches()).toEqual(before);
  });

  test("was: the old name takes the result, and null says that it is new work", async () => {
    const at = await parked(code("charge"));
    const again = await at.answer(code("charge-card", "charge"));
    expect(outputOf(again.outcome)).toEqual([1, "yes"]);
    expect(again.ran).toEqual([]);
    const other = await parked(code("charge"));
    const { outcome, ran } = await other.answer(code("charge-card", null));
    expect(outcome?.status).toBe("completed");
    expect(ran).toHaveLength(1);
  });

  test("removed, with new work after the wait: free", async () => {
    const at = await parked(code("charge"));
    const { outcome, ran } = await at.answer(async (ctx, steps) => {
      const answer = await ctx.suspend("ok");
      return [answer, await charge(ctx, "mail", steps)];
    });
    expect(outcome?.status).toBe("completed");
    expect(ran).toHaveLength(1);
  });

  test("its loop is shorter, with new work after the wait: free", async () => {
    const loop =
      (count: number): Body =>
      async (ctx, ran) => {
        for (let i = 0; i < count; i++) await charge(ctx, "item", ran);
        const answer = await ctx.suspend("ok");
        if (count < 5) await charge(ctx, "mail", ran);
        return answer;
      };
    const at = await parked(loop(5));
    const { outcome, ran } = await at.answer(loop(3));
    expect(outputOf(outcome)).toBe("yes");
    expect(ran).toHaveLength(1);
  });
});

describe("renames.2 a step that is not known as paid", () => {
  const one: Body = async (ctx, ran) => [
    await ctx.step("draft", () => ran.push("draft")),
    await ctx.suspend("ok"),
  ];

  test("with the same source text: blocked", async () => {
    const name = { now: "draft" };
    const same: Body = async (ctx, ran) => [
      await ctx.step(name.now, () => ran.push("draft it")),
      await ctx.suspend("ok"),
    ];
    const at = await parked(same);
    name.now = "write";
    const { outcome, ran } = await at.next(same);
    expect(outcome).toMatchObject(blocked("draft", "write"));
    expect(ran).toEqual([]);
  });

  test("with the same declared input: blocked", async () => {
    const code =
      (name: string, work: () => number): Body =>
      async (ctx) => [await ctx.step(name, work, { input: "tides" }), await ctx.suspend("ok")];
    const at = await parked(code("draft", () => 1));
    const { outcome } = await at.next(code("write", () => 2 + 2));
    expect(outcome).toMatchObject(blocked("draft", "write"));
  });

  test("with another source text: it runs, with a warning that names the record", async () => {
    const at = await parked(one);
    const { outcome, ran, warnings } = await at.next(async (ctx, steps) => [
      await ctx.step("write", () => steps.push("something else")),
      await ctx.suspend("ok"),
    ]);
    expect(outcome.status).toBe("suspended");
    expect(ran).toEqual(["something else"]);
    expect(warnings).toEqual([
      'run r has no record of the step "write", so it runs, and the recorded step "draft" was not asked for yet. If it was renamed, pass { was: "draft" }; if it is new work, { was: null }.',
    ]);
  });

  test("made by a helper that makes others, too: its source text says nothing", async () => {
    const say = (ctx: Context, ran: string[], name: string) => ctx.step(name, () => ran.push(name));
    const at = await parked(async (ctx, ran) => {
      await say(ctx, ran, "a");
      await say(ctx, ran, "b");
      return ctx.suspend("ok");
    });
    const { outcome, ran } = await at.next(async (ctx, steps) => {
      await say(ctx, steps, "a");
      await say(ctx, steps, "x");
      await say(ctx, steps, "b");
      return ctx.suspend("ok");
    });
    expect(outcome.status).toBe("suspended");
    expect(ran).toEqual(["x"]);
  });
});

describe("renames.1 other kinds and places", () => {
  const child = durable("send", async (ctx: Context, to: string) => ctx.step("mail", () => to));

  test.each(["child", "spawn"] as const)("a %s under another name", async (kind) => {
    const code =
      (name: string, was?: string | null): Body =>
      async (ctx) => {
        if (kind === "child") await ctx.child(child, "kim", { name, was });
        else await ctx.spawn(child, "kim", { name, was });
        return ctx.suspend("ok");
      };
    const at = await parked(code("one"));
    expect((await at.next(code("two"))).outcome).toMatchObject(blocked("one", "two"));
    expect(outputOf((await at.answer(code("two", "one"))).outcome)).toBe("yes");
    expect((await at.on.storage.list()).runs).toHaveLength(2);
    const other = await parked(code("one"));
    expect(outputOf((await other.answer(code("two", null))).outcome)).toBe("yes");
    expect((await other.on.storage.list()).runs).toHaveLength(3);
  });

  test("a stream", async () => {
    const code =
      (name: string, was?: string | null): Body =>
      async (ctx) => {
        const words = await ctx.stream(name, () => ["a", "b"], { input: 1, was });
        return [words, await ctx.suspend("ok")];
      };
    const at = await parked(code("one"));
    expect((await at.next(code("two"))).outcome).toMatchObject(blocked("one", "two"));
    expect(outputOf((await at.answer(code("two", "one"))).outcome)).toEqual([["a", "b"], "yes"]);
  });

  test("in a branch: only records of that branch", async () => {
    const charge = (ctx: Context, ran: string[], name: string) =>
      ctx.step(name, ({ idempotencyKey }) => ran.push(idempotencyKey.slice(0, 0) + name));
    const at = await parked(async (ctx, ran) =>
      ctx.parallel({
        a: (c) => charge(c, ran, "pay"),
        b: async (c) => [await charge(c, ran, "book"), await c.suspend("ok")],
      }),
    );
    const { outcome } = await at.next(async (ctx, ran) =>
      ctx.parallel({
        a: (c) => charge(c, ran, "pay"),
        b: async (c) => [await charge(c, ran, "reserve"), await c.suspend("ok")],
      }),
    );
    expect(outcome).toMatchObject(blocked("parallel[b]/book", "parallel[b]/reserve"));
  });

  test("began with unknown outcome: blocked", async () => {
    const on = lab();
    const flow = (name: string) =>
      durable("flow", (ctx: Context) =>
        ctx.step(name, () => new Promise(() => {}), { onUncertain: "retry" }),
      ).with({ ...on });
    void flow("charge").run(undefined, { id: "r" });
    await on.world.advance(100);
    await on.world.advance(600_000);
    const copy = lab();
    const [head] = (await on.storage.list()).runs;
    const { batches } = await on.storage.read(head!.locator);
    for (const [position, batch] of batches.entries())
      await copy.storage.append({ locator: head!.locator, position, batch, head: { ...head!, wakeAt: 0 } });
    const ran: string[] = [];
    const renamed = durable("flow", (ctx: Context) =>
      ctx.step("charge-card", () => ran.push("charge-card"), { onUncertain: "retry" }),
    ).with({ ...copy });
    const outcome = await copy.world.run(renamed.run(undefined, { id: "r" }));
    expect(outcome).toMatchObject(blocked("charge", "charge-card"));
    expect(ran).toEqual([]);
  });

  test("a failure that was handled: free", async () => {
    const charge = (ctx: Context, name: string, ran: string[]) =>
      ctx.step(
        name,
        ({ idempotencyKey }) => {
          ran.push(idempotencyKey.slice(0, 0) + name);
          if (name === "first") throw new Error("declined");
        },
        { retry: false },
      );
    const at = await parked(async (ctx, ran) => {
      await charge(ctx, "first", ran).catch(() => {});
      return ctx.suspend("ok");
    });
    const { outcome, ran } = await at.next(async (ctx, steps) => {
      await charge(ctx, "second", steps);
      return ctx.suspend("ok");
    });
    expect(outcome.status).toBe("suspended");
    expect(ran).toEqual(["second"]);
  });
});

test("renames.1 a paid step removed, with new work beside the open wait: free", async () => {
  const pay = (ctx: Context, name: string, ran: string[]) =>
    ctx.step(name, ({ idempotencyKey }) => ran.push(idempotencyKey.slice(0, 0) + name));
  const at = await parked(async (ctx, ran) => {
    await pay(ctx, "charge", ran);
    return ctx.suspend("ok");
  });
  const { outcome, ran } = await at.next(async (ctx, steps) => {
    const ok = ctx.suspend("ok");
    await pay(ctx, "mail", steps);
    return ok;
  });
  expect([outcome.status, ran]).toEqual(["suspended", ["mail"]]);
});

describe("renames.3 inserted calls", () => {
  const pay = (ctx: Context, name: string, ran: string[], was?: string | null) =>
    ctx.step(name, ({ idempotencyKey }) => ran.push(idempotencyKey.slice(0, 0) + name), { was });
  const note = (ctx: Context, name: string, ran: string[], was?: string | null) =>
    ctx.step(name, () => ran.push(name), { was });

  test.each([null, undefined])("two of them do not hide a later rename (was: %s)", async (was) => {
    const at = await parked(async (ctx, ran) => {
      await note(ctx, "a", ran);
      await note(ctx, "b", ran);
      await pay(ctx, "charge", ran);
      return ctx.suspend("ok");
    });
    const inserted =
      (charge: string): Body =>
      async (ctx, ran) => {
        await note(ctx, "x", ran, was);
        await note(ctx, "y", ran, was);
        await note(ctx, "a", ran);
        await note(ctx, "b", ran);
        await pay(ctx, charge, ran);
        return ctx.suspend("ok");
      };
    const next = await at.next(inserted("charge"));
    expect([next.outcome.status, next.ran]).toEqual(["suspended", ["x", "y"]]);
    const { outcome, ran } = await at.next(inserted("charge-card"));
    expect(outcome).toMatchObject(blocked("charge", "charge-card"));
    expect(ran).toEqual([]);
  });

  test("directly before paid work: blocked, unless it says that it is new", async () => {
    const at = await parked(async (ctx, ran) => {
      await pay(ctx, "charge", ran);
      return ctx.suspend("ok");
    });
    const inserted =
      (was?: null): Body =>
      async (ctx, ran) => {
        await note(ctx, "check", ran, was);
        await pay(ctx, "charge", ran);
        return ctx.suspend("ok");
      };
    expect((await at.next(inserted())).outcome).toMatchObject(blocked("charge", "check"));
    const { outcome, ran } = await at.next(inserted(null));
    expect([outcome.status, ran]).toEqual(["suspended", ["check"]]);
  });
});

test("a slow strand beside it still asks for its record: not blocked", async () => {
  const on = lab();
  const slow = (ms: number) => new Promise<void>((done) => void on.world.timer(ms, done));
  let dies = true;
  const flow = durable("flow", (ctx: Context) =>
    Promise.all([
      (async () => {
        await ctx.step("a", () => 1);
        return ctx.step("b", () => (dies ? new Promise(() => {}) : "b"));
      })(),
      (async () => {
        await slow(200);
        return ctx.step("charge", ({ idempotencyKey }) => idempotencyKey.length);
      })(),
    ]),
  ).with({ ...on });
  void flow.run(undefined, { id: "r" });
  await on.world.advance(1_000);
  const copy = lab();
  const [head] = (await on.storage.list()).runs;
  const { batches } = await on.storage.read(head!.locator);
  for (const [position, batch] of batches.entries())
    await copy.storage.append({ locator: head!.locator, position, batch, head: { ...head!, wakeAt: 0 } });
  dies = false;
  const again = flow.with({ ...copy, world: on.world });
  expect(outputOf(await on.world.run(again.run(undefined, { id: "r" })))).toEqual(["b", 32]);
});
