/**
 * The workflows of streams, children, uncertain steps, large values and secrets.
 * As with those of golden-flows.ts, changing one changes what the journals prove.
 */

import { durable, FatalError, secret, type Context } from "@durable/core";
import { pace } from "./golden-flows.ts";

/** Chunks that come one by one, where the journals are made. */
async function* slowly<T>(...chunks: readonly T[]): AsyncGenerator<T> {
  for (const chunk of chunks) {
    await pace.wait();
    yield chunk;
  }
}

export const streams = durable("streams", async (ctx) => {
  const tokens = await ctx.stream("tokens", () => slowly<unknown>("Hel", "lo", { at: new Date(0) }), {
    input: "hello",
  });
  const many = await ctx.stream("many", () => Array.from({ length: 600 }, (_, n) => n));
  const none = await ctx.stream("none", () => []);
  const flaky = await ctx.stream(
    "flaky",
    async function* ({ attempt }) {
      yield* slowly(`attempt ${attempt}`);
      if (attempt === 1) throw new Error("cut off");
    },
    { retry: { attempts: 2, delay: "1m", jitter: false } },
  );
  const caught = await ctx
    .stream("broken", () => Promise.reject(new FatalError("no stream")))
    .catch((error: Error) => error.message);
  await ctx.suspend("read");
  return { tokens, sum: many.reduce((sum, n) => sum + n, 0), none, flaky, caught };
});

const pupil = durable("pupil", async (ctx, name: string) => {
  const work = await ctx.step("work", () => `${name} works`);
  if (name === "lazy") throw new FatalError("nothing done");
  const asked = name === "shy" ? await ctx.suspend<string>("ask", { note: { name } }) : "not asked";
  return { work, asked };
});

const teacher = durable("teacher", async (ctx, names: readonly string[]) =>
  ctx.map(names, (c, name) => c.child(pupil, name), { key: (name) => name, concurrency: 2 }),
);

export const school = durable("school", async (ctx) => {
  const early = await ctx.child(pupil, "early");
  const lazy = await ctx.child(pupil, "lazy", { name: "detention" }).catch((error: Error) => error.message);
  const first = await ctx.race({
    quick: (c) => c.step("quick", () => "quick"),
    shy: (c) => c.child(pupil, "shy"),
  });
  const lessons = await ctx.child(teacher, ["keen", "shy"]);
  const numbers = await ctx.map([1, 2], (c: Context, n) => c.step("count", () => n * 2));
  return { early, lazy, first, lessons, numbers };
});

export const charges = durable("charges", async (ctx) => {
  const plain = await ctx.step("plain", () => "charged", { onUncertain: "retry", input: { cents: 100 } });
  const flaky = await ctx.step(
    "flaky",
    ({ attempt }) => {
      if (attempt === 1) throw new Error("once");
      return attempt;
    },
    { onUncertain: "suspend", retry: { attempts: 2, delay: "1m", jitter: false } },
  );
  const charge = await ctx.step("charge", () => pace.wait().then(() => "charged by us"), {
    onUncertain: "suspend",
  });
  return { plain, flaky, charge };
});

/** Lines of text, like a manuscript: no two are the same. */
const lines = (from: number, count: number): string =>
  Array.from({ length: count }, (_, i) => `line ${from + i}: ${"words ".repeat(1 + ((from + i) % 5))}`).join(
    "\n",
  );

export const book = durable(
  "book",
  async (ctx, input: { readonly title: string; readonly notes: string }) => {
    const key = await ctx.step("key", () => secret("no-secret-of-any-worth", "GOLDEN_KEY"));
    const pages: string[] = [];
    for (let n = 0; n < 3; n++) pages.push(await ctx.step("page", () => lines(n * 100, 100)));
    // A list of pages that grew, a text that is cut into pieces, and many small items.
    const whole = await ctx.step("whole", () => ({
      title: input.title,
      pages,
      text: lines(0, 700),
      index: Array.from({ length: 300 }, (_, n) => ({ n })),
    }));
    const read = await ctx.stream("read", () => pages);
    const letter = await ctx.suspend<string>("letter", { note: { pages: pages.slice(0, 2) } });
    return { ...whole, key, notes: input.notes.length, letter, same: read.join() === pages.join() };
  },
);

export const goldenFlowsOfStreams = [streams, pupil, teacher, school, charges, book];
