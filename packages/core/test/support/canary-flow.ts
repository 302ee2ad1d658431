/** Workflows that put a text everywhere a program may put one, and a search for what is left of it. */

import { durable, FatalError, RetryError, type Context } from "@durable/core";
import { z } from "zod";

/** An error with the text in all its parts. */
export function loud(text: string): Error {
  const inner = Object.assign(new TypeError(`inner ${text}`), {
    url: `https://api.test/?k=${encodeURIComponent(text)}`,
  });
  const many = new AggregateError([inner, text], `many ${text}`, { cause: { note: text, [text]: 1 } });
  const error = Object.assign(new Error(`outer ${text}`, { cause: many }), {
    name: `Error of ${text}`,
    authorization: `Bearer ${text}`,
    basic: Buffer.from(`user:${text}`).toString("base64"),
    request: { headers: { authorization: text } },
  });
  error.stack = `${String(error.stack)}\n    at ${text} (file.ts:1:1)`;
  return error;
}

export interface Leaky {
  readonly plain: string;
  readonly map: ReadonlyMap<string, string>;
  readonly bytes: Uint8Array;
  readonly url: URL;
}

export function leakyInput(text: string): Leaky {
  return {
    plain: text,
    map: new Map([[text, `value ${text}`]]),
    bytes: new TextEncoder().encode(`begin ${text} end`),
    url: new URL(`https://example.test/?key=${encodeURIComponent(text)}`),
  };
}

/** `stop` is called where a process may be made to end; `form` goes into a JSON Schema. */
export function leakyFlows(
  text: string,
  { stop = () => {}, form = text }: { stop?: (where: string) => unknown; form?: string } = {},
) {
  const quietly = (work: Promise<unknown>): Promise<unknown> => work.catch((error: unknown) => error);
  const child = durable("child", async (ctx, given: { key: string; fails: boolean }) => {
    const used = await ctx.step("use", () => `child has ${given.key} and ${text}`);
    if (given.fails) throw loud(text);
    return used;
  });
  const flow = durable("leaky", async (ctx: Context, input: Leaky) => {
    await ctx.step("use", () => ({ [text]: [text], all: input }), { input: { declared: text } });
    await ctx.step("large", () =>
      Array.from({ length: 300 }, (_, i) => ({ i, text: `${text} ${i} ${text}` })),
    );
    await ctx.step("long", () => `${text} `.repeat(2_000));
    await quietly(
      ctx.step(
        "flaky",
        ({ attempt }) => {
          if (attempt === 1) throw new RetryError(`wait ${text}`, { after: 1, cause: loud(text) });
          if (attempt === 2) throw loud(text);
          throw new FatalError(`give up ${text}`, { cause: text });
        },
        { retry: { delay: 1, attempts: 5 } },
      ),
    );
    await quietly(ctx.step("schema", () => text, { schema: refuses(text), retry: false }));
    await quietly(ctx.step("unkept", () => ({ [text]: () => text }), { retry: false }));
    await ctx.stream("chunks", () => [`a ${text} b`, { deep: [text] }, new TextEncoder().encode(text)]);
    const broken = async function* () {
      yield `before ${text}`;
      throw loud(text);
    };
    await quietly(ctx.stream("broken", broken, { retry: false }));
    await ctx.child(child, { key: text, fails: false });
    await quietly(ctx.child(child, { key: text, fails: true }, { name: "failing" }));
    await quietly(ctx.parallel({ bad: () => Promise.reject(loud(text)) }));
    await ctx
      .step("charge", () => stop("charge"), { onUncertain: () => Promise.reject(loud(text)), retry: false })
      .catch(() => {});
    await ctx.suspend("late", { timeout: 1, fallback: { text } });
    const schema = z.object({
      ok: z.literal(true, { error: () => `not ${text}` }),
      hint: z.string().default(form),
    });
    const answer = await ctx.suspend("ask", { note: { use: text }, schema });
    stop("answered");
    throw new Error(`the end with ${text} ${answer.hint}`, { cause: loud(text) });
  });
  return { flow, child };
}

/** A schema that says what it was given. */
function refuses(text: string) {
  return z
    .string()
    .refine(() => false, { error: (issue) => `${String(issue.input)} is not what ${text} should be` });
}

/** What is left of a text: any ten characters of it, as they are or escaped, and its base64 wherever it begins. */
export function leaksIn(bytes: Buffer | string, text: string): string[] {
  const found = typeof bytes === "string" ? bytes : bytes.toString("latin1");
  const forms = new Set<string>();
  for (const form of [text, JSON.stringify(text).slice(1, -1), encodeURIComponent(text)]) {
    const latin = Buffer.from(form).toString("latin1");
    for (let i = 0; i + 10 <= latin.length; i++) forms.add(latin.slice(i, i + 10));
    for (let i = 0; i + 10 <= form.length; i++) forms.add(form.slice(i, i + 10));
  }
  for (const before of ["", "x", "xx"]) {
    const code = Buffer.from(before + text)
      .toString("base64")
      .slice(4, -4);
    for (let i = 0; i + 12 <= code.length; i++) {
      forms.add(code.slice(i, i + 12));
      forms.add(
        code
          .slice(i, i + 12)
          .replaceAll("+", "-")
          .replaceAll("/", "_"),
      );
    }
  }
  return [...forms].filter((form) => found.includes(form));
}
