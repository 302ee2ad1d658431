/**
 * Answers of a bounded size. A note at each cut says how long the whole is, and by which path and offset the rest is read.
 *
 * bounded.1. No answer has more than `most` characters of JSON, whatever a journal holds.
 */

import type { Plain } from "@durable/core/inspect";
import { CliError } from "../exit.ts";

const most = 40_000;
const textPage = 16_000;
const listPage = 100;
/** The longest texts and lists that are kept, tried one after the other. */
const cuts: readonly (readonly [text: number, items: number])[] = [
  [8_000, 200],
  [2_000, 100],
  [500, 40],
  [120, 15],
  [40, 4],
  [20, 1],
];

/** Which part of an answer is asked for. */
export interface Part {
  /** Names and numbers, with dots between them: `attempts.0.error`. */
  readonly path?: string | undefined;
  /** Where to begin in a text or a list. */
  readonly offset?: number | undefined;
}

export const partSchema = {
  path: { type: "string", description: "Only this part of the answer, such as value.items.3" },
  offset: { type: "integer", minimum: 0, description: "Where to begin in the text or list at the path" },
};

/** The answer, or the part that is asked for, cut to a bounded size. */
export function bounded(answer: Plain, { path = "", offset }: Part): Plain {
  const part = partAt(answer, path);
  if (offset === undefined) return shrunk(part, path);
  if (typeof part !== "string" && !Array.isArray(part))
    throw new CliError(`An offset needs a path to a text or a list. At "${path}" is neither.`, {
      code: "invalid-path",
    });
  const size = typeof part === "string" ? textPage : listPage;
  const page = part.slice(offset, offset + size);
  const next = offset + size < part.length ? offset + size : null;
  // Items are cut by their own paths, which count from the beginning.
  const value =
    typeof page === "string" ? page : page.map((item, i) => shrunk(item, join(path, String(offset + i))));
  return shrunk({ path, offset, length: part.length, next, value: value as Plain }, path);
}

function partAt(answer: Plain, path: string): Plain {
  let at: Plain = answer;
  for (const name of path === "" ? [] : path.split(".")) {
    if (typeof at !== "object" || at === null || !Object.keys(at).includes(name))
      throw new CliError(`There is nothing at "${path}" of this answer: "${name}" is missing.`, {
        code: "invalid-path",
      });
    at = (at as Readonly<Record<string, Plain>>)[name] ?? null;
  }
  return at;
}

const join = (path: string, name: string): string => (path === "" ? name : `${path}.${name}`);

function shrunk(value: Plain, path: string): Plain {
  if (sizeOf(value) <= most) return value;
  for (const limits of cuts) {
    const smaller = cut(value, path, limits);
    if (sizeOf(smaller) <= most) return smaller;
  }
  return `[${sizeOf(value)} characters: read it with a longer path than "${path}"]`;
}

const sizeOf = (value: Plain): number => JSON.stringify(value).length;

function cut(value: Plain, path: string, limits: readonly [text: number, items: number]): Plain {
  const [text, items] = limits;
  if (typeof value === "string") {
    if (value.length <= text) return value;
    return `${value.slice(0, text)}… [${value.length} characters; the rest: path "${path}", offset ${text}]`;
  }
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const list = value as readonly Plain[];
    const kept = list.slice(0, items).map((item, i) => cut(item, join(path, String(i)), limits));
    const more = list.length - kept.length;
    return more === 0 ? kept : [...kept, `[${more} more; path "${path}", offset ${kept.length}]`];
  }
  const fields = Object.entries(value);
  const kept = fields
    .slice(0, items)
    .map(([name, field]) => [name, cut(field, join(path, name), limits)] as const);
  const more = fields.length - kept.length;
  return Object.fromEntries(more === 0 ? kept : [...kept, ["…", `[${more} more names at path "${path}"]`]]);
}
