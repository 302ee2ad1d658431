/**
 * Large values in parts: what is sent of them at once, the rest by path, and where words are. Used by the server, and by the page
 * for values that it has. Proven in test/parts.test.ts.
 *
 * parts.1. A value is sent whole, or says of each list, text and object that is cut how much of it is missing.
 * parts.2. Read part by part, a value is what was recorded.
 */

import type { Plain } from "@durable/core/inspect";
import type { Cuts, ValueHits, ValuePart } from "./api.ts";

/** A value with less JSON is sent whole. */
const wholeUpTo = 200_000;
/** What is kept of a list or an object, and of a text, of a value that is cut. */
const most = { items: 100, text: 10_000 };
/** How many hits one search finds, and how much around a hit is shown. */
const mostHits = 50;
const around = 60;

type Limits = typeof most;
/** Smaller and smaller, until the value is small enough. */
const limits: readonly Limits[] = [
  most,
  { items: 40, text: 1_000 },
  { items: 10, text: 200 },
  { items: 3, text: 60 },
];

/** The value, or what of it is sent at once. */
export function cutLarge(value: Plain, base = ""): { readonly value: Plain; readonly cuts: Cuts } {
  if (sizeOf(value) <= wholeUpTo) return { value, cuts: {} };
  let result: { value: Plain; cuts: Cuts } = { value: null, cuts: {} };
  for (const limit of limits) {
    const cuts: Record<string, Cuts[string]> = {};
    result = { value: cut(value, base, { limit, cuts }), cuts };
    if (sizeOf(result.value) <= wholeUpTo) return result;
  }
  return result;
}

function sizeOf(value: Plain): number {
  return JSON.stringify(value).length;
}

const join = (path: string, name: string | number): string =>
  `${path}/${String(name).replaceAll("~", "~0").replaceAll("/", "~1")}`;

interface Cutting {
  readonly limit: Limits;
  readonly cuts: Record<string, Cuts[string]>;
}

function cut(value: Plain, path: string, cutting: Cutting): Plain {
  const { limit, cuts } = cutting;
  if (typeof value === "string") {
    if (value.length <= limit.text) return value;
    cuts[path] = { kept: limit.text, size: value.length };
    return value.slice(0, limit.text);
  }
  if (typeof value !== "object" || value === null) return value;
  const names = Object.keys(value);
  if (names.length > limit.items) cuts[path] = { kept: limit.items, size: names.length };
  if (Array.isArray(value))
    return (value as readonly Plain[])
      .slice(0, limit.items)
      .map((item, i) => cut(item, join(path, i), cutting));
  const fields = value as Readonly<Record<string, Plain>>;
  return Object.fromEntries(
    names.slice(0, limit.items).map((name) => [name, cut(fields[name] ?? null, join(path, name), cutting)]),
  );
}

/** The part of a value at a path; `undefined` where there is none. */
export function partAt(value: Plain, path: string): Plain | undefined {
  let at: Plain = value;
  for (const part of path.split("/").slice(1)) {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as Readonly<Record<string, Plain>>)[name] ?? null;
  }
  return at;
}

/** How many characters and items a page of a part has. */
const textPage = 50_000;
const listPage = 100;

/** A page of the list, the object or the text at a path; `undefined` where there is nothing. */
export function pageOfPart(value: Plain, path: string, offset: number): ValuePart | undefined {
  const part = partAt(value, path);
  if (part === undefined) return undefined;
  if (typeof part === "string") {
    const end = offset + textPage;
    return { path, offset, value: part.slice(offset, end), cuts: {}, next: end < part.length ? end : null };
  }
  if (typeof part !== "object" || part === null) return { path, offset, value: part, cuts: {}, next: null };
  const all = Object.entries(part as Readonly<Record<string, Plain>>);
  const cuts: Record<string, Cuts[string]> = {};
  const page = all.slice(offset, offset + listPage).map(([name, item]) => {
    const small = cutLarge(item, join(path, name));
    Object.assign(cuts, small.cuts);
    return [name, small.value] as const;
  });
  const next = offset + listPage < all.length ? offset + listPage : null;
  const shown: Plain = Array.isArray(part) ? page.map(([, item]) => item) : Object.fromEntries(page);
  return { path, offset, value: shown, cuts, next };
}

/** Where the words are, in names and in values, whatever their case. */
export function findWords(value: Plain, words: string): ValueHits {
  const asked = words.toLowerCase();
  if (asked === "") return { hits: [], more: false };
  const hits: { path: string; text: string }[] = [];
  const left: (readonly [path: string, part: Plain])[] = [["", value]];
  let more = false;
  for (let one = left.pop(); one !== undefined; one = left.pop()) {
    const [path, part] = one;
    const text = typeof part === "object" && part !== null ? lastName(path) : String(part);
    const place = text.toLowerCase().indexOf(asked);
    const name = lastName(path);
    const isHere = place !== -1 || name.toLowerCase().includes(asked);
    if (isHere && hits.length === mostHits) {
      more = true;
      break;
    }
    if (isHere)
      hits.push({ path, text: text.slice(Math.max(0, place - around), Math.max(0, place) + around) });
    if (typeof part === "object" && part !== null)
      left.push(
        ...Object.entries(part as Readonly<Record<string, Plain>>)
          .map(([field, inside]) => [join(path, field), inside] as const)
          .toReversed(),
      );
  }
  return { hits, more };
}

function lastName(path: string): string {
  return path
    .slice(path.lastIndexOf("/") + 1)
    .replaceAll("~1", "/")
    .replaceAll("~0", "~");
}
