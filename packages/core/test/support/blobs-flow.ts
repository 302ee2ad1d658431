/** A workflow whose every value is large: what it takes, returns, fails with, asks, is answered and streams. */

import { durable, FatalError, type Context } from "@durable/core";
import { z } from "zod";
import { Chance } from "./codec-values.ts";
import { prose } from "./blobs-pack.ts";

const texts = new Map<string, string>();

/** Text of a length, the same for the same number; made once. */
export function textOf(seed: number, length: number): string {
  const id = `${seed} ${length}`;
  const text = texts.get(id) ?? prose(new Chance(seed), length);
  texts.set(id, text);
  return text;
}

export interface Book {
  readonly notes: string;
}

export const bookInput: Book = { notes: textOf(1, 20_000) };
export const bookAnswers: Readonly<Record<string, unknown>> = {
  approve: { ok: true, remarks: textOf(2, 30_000) },
  sign: textOf(3, 25_000),
};

/** `ran` hears of every body that begins. */
export function bookFlow(ran: (key: string) => void = () => {}) {
  const work =
    <T>(make: () => T) =>
    ({ key }: { readonly key: string }): T => {
      ran(key);
      return make();
    };
  const chapter = durable("chapter", async (ctx, input: { body: string }) => {
    const draft = await ctx.step(
      "draft",
      work(() => input.body + textOf(4, 9_000)),
    );
    return { draft, words: draft.split(" ").length };
  });
  const body = async (ctx: Context, input: Book) => {
    const plan = await ctx.step(
      "plan",
      work(() => [input.notes, textOf(5, 30_000)]),
    );
    const flaky = await ctx.step(
      "flaky",
      ({ key, attempt }) => {
        ran(key);
        if (attempt === 1) throw new Error(textOf(6, 6_000));
        return textOf(7, 20_000);
      },
      { retry: { delay: "1s", jitter: false } },
    );
    const failed = await ctx
      .step(
        "fatal",
        work(() => Promise.reject(new FatalError(textOf(8, 7_000)))),
      )
      .catch((error: Error) => (error.cause as Error).message);
    const schema = z.object({
      ok: z.boolean(),
      remarks: z.string(),
      more: z.string().default(textOf(9, 8_000)),
    });
    const approve = await ctx.suspend("approve", { note: { draft: textOf(10, 40_000) }, schema });
    const tokens = await ctx.stream("tokens", async function* ({ key }) {
      ran(key);
      for (let i = 0; i < 4; i++) yield textOf(11 + i, 9_000);
    });
    const beside = await ctx.parallel({
      chapter: (c) => c.child(chapter, { body: plan[1] ?? "" }),
      sign: (c) => c.suspend<string>("sign"),
      page: (c) =>
        c.step(
          "page",
          work(() => ({ page: plan, twice: plan })),
        ),
    });
    const late = await ctx.suspend("late", { timeout: "3s", fallback: textOf(15, 20_000) });
    return { plan, flaky, failed, approve, tokens, beside, late };
  };
  return { book: durable("book", body), chapter };
}
