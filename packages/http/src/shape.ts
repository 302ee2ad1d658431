/** What a client sent, checked member by member: what is not asked for is refused, not passed on. */

import { DurableError } from "@durable/core";
import { assertType, jsonType, parseJson, readBytes } from "./body.ts";
import { HttpError } from "./errors.ts";
import type { Limits } from "./limits.ts";

type Members = Readonly<Record<string, unknown>>;

/** The members of a JSON object, all of them among `names`. */
export function membersOf(body: unknown, names: readonly string[]): Members {
  if (typeof body !== "object" || body === null || Array.isArray(body))
    throw new HttpError("invalid-body", `The body is an object with ${names.join(", ")}.`);
  const unknown = Object.keys(body).some((key) => !names.includes(key));
  if (unknown) throw new HttpError("invalid-body", `The body has members other than ${names.join(", ")}.`);
  return body as Members;
}

/** The members of a JSON body that may be left out altogether. */
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

/** A member that is a text, or is not there. */
export function textIn(members: Members, name: string): string | undefined {
  const value = members[name];
  if (value === undefined || typeof value === "string") return value;
  throw new HttpError("invalid-body", `"${name}" is a text.`);
}

/** The parameters of an address, each given once, all of them among `names`. */
export function queryOf(url: URL, names: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [name, value] of url.searchParams) {
    if (!names.includes(name))
      throw new HttpError("invalid-query", `This address takes ${names.join(", ") || "no parameters"}.`);
    if (found.has(name)) throw new HttpError("invalid-query", `"${name}" is given twice.`);
    found.set(name, value);
  }
  return found;
}

/** A parameter that is a whole number in a range, or is not there. */
export function wholeIn(
  query: ReadonlyMap<string, string>,
  name: string,
  [least, most]: readonly [number, number],
): number | undefined {
  const text = query.get(name);
  if (text === undefined) return undefined;
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new HttpError("invalid-query", `"${name}" is a whole number from ${least} to ${most}.`);
}

/** The same rule as the library's: what passes here is no path, no pattern and no header. */
export function runIdOf(given: string | undefined): string {
  if (given !== undefined && /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/.test(given)) return given;
  throw new DurableError(
    "invalid-id",
    'That is not a run id. Use 1 to 128 letters, digits, "-" and "_", beginning with a letter or a digit.',
  );
}
