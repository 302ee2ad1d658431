/** Programs with a budget, made up by chance: parallel calls, steps with calls inside, children, forks and deaths. */

import { createApp, durable, type App, type Context, type Storage } from "@durable/core";
import type { StorageLimits } from "@durable/core/storage";
import { seeded, type Random } from "@durable/testing";
import { expect, inject, it } from "vitest";
import { lab, pause, type Lab } from "../support/behaviour-lab.ts";

const prices = { m: { input: 1_000_000, output: 1_000_000 } };

type Act =
  | { readonly kind: "call"; readonly name: string; readonly cost: number; readonly isKnown: boolean }
  /** A step in which several calls are made, as by an agent in a tool. */
  | { readonly kind: "agent"; readonly name: string; readonly costs: readonly number[] }
  | { readonly kind: "parallel" | "child"; readonly acts: readonly Act[] };

function actsOf(random: Random, depth: number, name: string): Act[] {
  return Array.from({ length: random.between(1, 4) }, (_, n): Act => {
    const own = `${name}.${n}`;
    const kind = random.pick(
      depth === 0 ? ["call", "agent"] : ["call", "call", "agent", "parallel", "child"],
    );
    if (kind === "call") return { kind, name: own, cost: random.between(1, 4), isKnown: random.chance(0.7) };
    if (kind === "agent")
      return {
        kind,
        name: own,
        costs: Array.from({ length: random.between(1, 3) }, () => random.between(1, 3)),
      };
    return { kind: kind as "parallel" | "child", acts: actsOf(random, depth - 1, own) };
  });
}

/** What the provider of one tree of runs knows. */
class Books {
  most: number;
  /** Of calls whose result the code has. */
  spent = 0;
  readonly made = new Map<string, number>();
  readonly wrong: string[] = [];
  readonly #settled = new Set<string>();

  constructor(most: number) {
    this.most = most;
  }

  /** A call begins. What is under way does not count yet. */
  begin(name: string, expected: number): void {
    this.made.set(name, (this.made.get(name) ?? 0) + 1);
    if (this.spent >= this.most || this.spent + expected > this.most)
      this.wrong.push(`${name} (${expected}) at ${this.spent} of ${this.most}`);
  }

  end(name: string, cost: number): void {
    // A fork has inherited it, or it was counted.
    if (!this.made.has(name) || this.#settled.has(name)) return;
    this.#settled.add(name);
    this.spent += cost;
  }
}

/** An app whose process can die: then nothing reaches the storage, and no reply comes. */
function mortal(base: Lab, random: Random): { readonly storage: Storage; readonly died: Promise<"died"> } {
  let left = random.chance(0.5) ? random.between(1, 40) : Infinity;
  const died = Promise.withResolvers<"died">();
  const alive = async <T>(ask: () => Promise<T>): Promise<T> => {
    const before = random.chance(0.5);
    if (left-- > 0) return ask();
    if (!before && left === -1) await ask();
    died.resolve("died");
    return new Promise<T>(() => {});
  };
  const { storage } = base;
  const limits = storage.limits as StorageLimits;
  const ending: Storage = {
    ...storage,
    append: (request) => alive(() => storage.append(request)),
    read: (...given) => alive(() => storage.read(...given)),
    lease: (...given) => alive(() => storage.lease(...given)),
    release: (...given) => alive(() => storage.release(...given)),
    list: (query) => alive(() => storage.list(query)),
    delete: (locator) => storage.delete(locator),
    limits: {
      ...limits,
      read: (name) => alive(() => limits.read(name)),
      swap: (...given) => alive(() => limits.swap(...given)),
      slots: () => limits.slots(),
      texts: (prefix) => limits.texts(prefix),
    },
  };
  return { storage: ending, died: died.promise };
}

async function play(
  seed: number,
): Promise<{ readonly asked: number; readonly deaths: number; readonly calls: number }> {
  const random = seeded(seed);
  const base = lab(seed);
  const tree = random.chance(0.5);
  const acts = actsOf(random, 2, "a");
  const most = random.between(3, 14);
  const onLimit = random.chance(0.15) ? "fail" : "suspend";
  const books = new Map<string, Books>();
  const seen = { asked: 0, deaths: 0 };
  /** The run that is played. Its children do not have it in their input, which would differ in a fork. */
  let root = "r";

  /** A budget that is no tree's is each run's own. */
  const booksOf = (runId: string): Books => {
    const id = tree ? root : runId;
    const found = books.get(id) ?? new Books(tree || runId === root ? most : Infinity);
    books.set(id, found);
    return found;
  };
  const perform = async (ctx: Context, of: readonly Act[]): Promise<void> => {
    for (const act of of) {
      const book = booksOf(ctx.runId);
      if (act.kind === "call") {
        const { name, cost, isKnown } = act;
        const usage = { model: "m", inputTokens: cost, outputTokens: 0 };
        await ctx.step(
          name,
          async ({ meter }) => {
            book.begin(name, isKnown ? cost : 0);
            await pause(base.world, 50);
            meter(usage);
          },
          isKnown ? { estimate: () => usage } : {},
        );
        book.end(name, cost);
      } else if (act.kind === "agent") {
        await ctx.step(act.name, async ({ meter }) => {
          book.begin(act.name, 0);
          for (const cost of act.costs) {
            await pause(base.world, 20);
            meter({ model: "m", inputTokens: cost, outputTokens: 0 });
          }
        });
        book.end(
          act.name,
          act.costs.reduce((sum, cost) => sum + cost, 0),
        );
      } else if (act.kind === "parallel")
        await ctx.parallel(act.acts.map((one) => (branch) => perform(branch, [one])));
      else await ctx.child(inner, act.acts);
    }
  };
  const inner = durable("inner", (ctx, own: readonly Act[]) => perform(ctx, own));
  const outer = durable("outer", (ctx) => perform(ctx, acts), { budget: { most, onLimit, tree } });
  const made = (storage: Storage): App =>
    createApp({ ...base, storage, prices, lease: "5 s", bind: false, workflows: [outer, inner] });

  /** Drives all runs until nothing is left but questions, whoever dies; then answers one. */
  const settle = async (id: string): Promise<string> => {
    for (let round = 0; round < 200; round++) {
      const { storage, died } = mortal(base, random);
      const app = made(storage);
      const begun: Promise<unknown> = id === "r" ? app.run(outer, undefined, { id }) : app.advance(id);
      const work = begun.then(() => app.sweep()).then(() => "alive" as const);
      if ((await base.world.run(Promise.race([work, died]))) === "died") {
        seen.deaths += 1;
        await base.world.advance(6_000);
        continue;
      }
      const reader = made(base.storage);
      const { runs } = await base.world.run(reader.list({}));
      const asking = runs.filter(({ waits, runId }) => waits !== undefined && (runId === id || tree));
      const outcome = await base.world.run(reader.get(id).outcome());
      if (outcome.status === "completed" || outcome.status === "failed") return outcome.status;
      const one = asking.length === 0 ? null : random.pick(asking);
      if (one !== null) {
        const of = await base.world.run(reader.get(one.runId).outcome());
        const wait =
          of.status === "suspended" ? of.waiting.find(({ key }) => key.startsWith("budget/")) : undefined;
        if (wait !== undefined) {
          const more = random.chance(0.1) ? 0 : random.between(1, 12);
          seen.asked += 1;
          // Before the answer, so that no call that it allows comes too early.
          booksOf(one.runId).most += more;
          await base.world.run(reader.resume(wait.token, { more }));
        }
      }
      // Others of the tree look by themselves.
      await base.world.advance(130_000);
      await base.world.run(reader.sweep());
    }
    const last = await base.world.run(made(base.storage).get(id).outcome());
    throw new Error(`seed ${seed}: ${id} did not end: ${JSON.stringify(last)}`);
  };

  const status = await settle("r");
  const before = new Map([...books].map(([id, { made: calls }]) => [id, sum(calls)]));
  // A replay spends nothing.
  await base.world.run(made(base.storage).run(outer, undefined, { id: "r" }));
  for (const [id, book] of books)
    expect(sum(book.made), `seed ${seed}: replay of ${id}`).toBe(before.get(id));
  if (status === "completed" && random.chance(0.3)) {
    const entries = await base.world.run(made(base.storage).get("r").entries());
    const keys = entries.flatMap((entry) =>
      entry.kind === "step.completed" && !entry.key.includes("/") ? [entry.key] : [],
    );
    const from = keys.length === 0 ? undefined : random.pick(keys);
    if (from !== undefined) {
      root = "f";
      await base.world.run(made(base.storage).fork(outer, "r", { from, id: "f" }));
      await settle("f");
    }
  }
  for (const [id, book] of books) {
    expect(book.wrong, `seed ${seed}, ${id}`).toEqual([]);
    if (seen.deaths === 0)
      for (const [name, times] of book.made) expect(times, `seed ${seed}: ${name} of ${id}`).toBe(1);
  }
  return { ...seen, calls: [...books.values()].reduce((all, { made: calls }) => all + sum(calls), 0) };
}

function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((all, one) => all + one, 0);
}

const programs = inject("full") ? 1_000 : 40;

it(
  `${programs} programs spend what their budget allows, and what is under way`,
  { timeout: 300_000 },
  async () => {
    const total = { asked: 0, deaths: 0, calls: 0 };
    for (let seed = 1; seed <= programs; seed++) {
      const { asked, deaths, calls } = await play(seed);
      total.asked += asked;
      total.deaths += deaths;
      total.calls += calls;
    }
    console.log(
      `${programs} programs: ${total.calls} calls, ${total.asked} questions, ${total.deaths} deaths`,
    );
    expect(total.asked).toBeGreaterThan(programs / 4);
    expect(total.deaths).toBeGreaterThan(programs / 10);
  },
);
