/**
 * Checks the fields of a request one by one; unknown ones are refused, not passed on. Proven in
 * test/runs.test.ts.
 */

import { DurableError } from "@durable/core";
import { assertType, jsonType, parseJson, readBytes } from "./body.ts";
import { HttpError } from "./errors.ts";
import type { Limits } from "./limits.ts";

type Members = Readonly<Record<string, unknown>>;

/** The members of a JSON object, all of them among `names`. */
export function membersOf(body: unknown, names: readonly string[]): Members {
  if (typeof body !== "object" || body === null || Array.isArray(body))
    throw new HttpError("invalid-body", `The body must be an object with ${names.join(", ")}.`);
  const unknown = Object.keys(body).some((key) => !names.includes(key));
  if (unknown) throw new HttpError("invalid-body", `The body has members other than ${names.join(", ")}.`);
  return body as Members;
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

/** An optional text member. */
export function textIn(members: Members, name: string): string | undefined {
  const value = members[name];
  if (value === undefined || typeof value === "string") return value;
  throw new HttpError("invalid-body", `"${name}" must be a string.`);
}

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

/** The library's rule for run ids: an accepted id cannot be a path, a pattern or a header. */
export function runIdOf(given: string | undefined): string {
  if (given !== undefined && /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/.test(given)) return given;
  throw new DurableError(
    "invalid-id",
    'Invalid run id. Use 1 to 128 letters, digits, "-" and "_", beginning with a letter or a digit.',
  );
}
