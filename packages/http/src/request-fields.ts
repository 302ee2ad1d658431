/**
 * Checks the fields of a request one by one; unknown ones are refused, not passed on. Proven in
 * test/runs.test.ts.
 */

import { DurableError, type Duration } from "@durable/core";
import { assertType, jsonType, parseJson, readBytes } from "./body.ts";
import { HttpError } from "./errors.ts";
import type { Limits } from "./limits.ts";

type Members = Readonly<Record<string, unknown>>;

/** The members of a JSON object, all of them among `names`. */
export function membersOf(body: unknown, names: readonly string[]): Members {
  if (!isObject(body))
    throw new HttpError("invalid-body", `The body must be an object with ${names.join(", ")}.`);
  const unknown = Object.keys(body).some((key) => !names.includes(key));
  if (unknown) throw new HttpError("invalid-body", `The body has members other than ${names.join(", ")}.`);
  return body;
}

/** The members of a JSON body that is optional as a whole. */
export async function optionalMembers(
  request: Request,
  limits: Limits,
  names: readonly string[],
): Promise<Members> {
  const bytes = await readBytes(request, limits);
  if (bytes.length === 0) return {};
  assertType(request, [jsonType]);
  return membersOf(parseJson(bytes, limits), names);
}

/** Reads an optional member that must fit; `what` says in the refusal what it must be. */
function member<T>(what: string, fits: (value: unknown) => value is T) {
  return (members: Members, name: string): T | undefined => {
    const value = members[name];
    if (value === undefined || fits(value)) return value;
    throw new HttpError("invalid-body", `"${name}" must be ${what}.`);
  };
}

const isText = (value: unknown): value is string => typeof value === "string";
const isNumber = (value: unknown): value is number => typeof value === "number";
const isList = (value: unknown): value is string[] => Array.isArray(value) && value.every(isText);
const isObject = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

type Place = string | { readonly turn: number };
const isPlace = (value: unknown): value is Place =>
  isText(value) ||
  (isObject(value) && Object.keys(value).length === 1 && Number.isSafeInteger(value["turn"]));

/** An optional text member. */
export const textIn = member("a string", isText);
/** An optional member that is true or false. */
export const flagIn = member("true or false", (value) => typeof value === "boolean");
export const numberIn = member("a number", isNumber);
export const countIn = member(
  "a whole number",
  (value): value is number => isNumber(value) && Number.isSafeInteger(value) && value >= 0,
);
export const durationIn = member(
  'milliseconds or a text such as "2s" or "30 days"',
  // The library checks the text.
  (value): value is Duration => isText(value) || isNumber(value),
);
export const listIn = member("a list of strings", isList);
export const textsIn = member(
  "a string or a list of strings",
  (value): value is string | string[] => isText(value) || isList(value),
);
/** Where a fork begins. */
export const placesIn = member(
  'a string, { "turn": number }, or a list of these',
  (value): value is Place | Place[] => (Array.isArray(value) ? value.every(isPlace) : isPlace(value)),
);
export const objectIn = member("an object", isObject);
export const labelsIn = member(
  "an object of strings",
  (value): value is Readonly<Record<string, string>> => isObject(value) && Object.values(value).every(isText),
);

/** The query parameters, each given once and named in `names`; `many` names one that may be given again. */
export function queryOf(url: URL, names: readonly string[], many?: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [name, value] of url.searchParams) {
    if (name === many) continue;
    if (!names.includes(name))
      throw new HttpError("invalid-query", `This address accepts ${names.join(", ") || "no parameters"}.`);
    if (found.has(name)) throw new HttpError("invalid-query", `"${name}" is given twice.`);
    found.set(name, value);
  }
  return found;
}

/** The tags of a query: each `tag` is a name, "=" and a value. */
export function tagsIn(url: URL): Readonly<Record<string, string>> | undefined {
  const given = url.searchParams.getAll("tag").map((text) => /^([^=]+)=(.*)$/s.exec(text)?.slice(1) ?? []);
  const [wrong] = given.filter(
    ([name], at) => name === undefined || given.findIndex(([other]) => other === name) !== at,
  );
  if (wrong !== undefined)
    throw new HttpError(
      "invalid-query",
      '"tag" must be a name, "=" and a value, and each name is given once.',
    );
  return given.length === 0 ? undefined : (Object.fromEntries(given) as Record<string, string>);
}

/** An optional query parameter that is a whole number in a range. */
export function wholeIn(
  query: ReadonlyMap<string, string>,
  name: string,
  [least, most]: readonly [number, number],
): number | undefined {
  const text = query.get(name);
  if (text === undefined) return undefined;
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new HttpError("invalid-query", `"${name}" must be a whole number from ${least} to ${most}.`);
}

/** The library's rule for names of schedules. */
export function scheduleOf(given: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/.test(given)) return given;
  throw new DurableError(
    "invalid-id",
    'Invalid name of a schedule. Use 1 to 100 letters, digits, "-" and "_", beginning with a letter or a digit.',
  );
}

/** The library's rule for run ids: an accepted id cannot be a path, a pattern or a header. */
export function runIdOf(given: string | undefined): string {
  if (given !== undefined && /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/.test(given)) return given;
  throw new DurableError(
    "invalid-id",
    'Invalid run id. Use 1 to 128 letters, digits, "-" and "_", beginning with a letter or a digit.',
  );
}
