/** The members of a start that say when the run begins, and beside which others. Proven in test/start-options.test.ts. */

import { DurableError, type Duration } from "@durable/core";
import type { FlowStart } from "@durable/core/types";
import { HttpError } from "./errors.ts";
import { only } from "./replies.ts";
import { durationIn, membersOf, numberIn, textIn } from "./request-fields.ts";

/** The names of these members. */
export const startMembers = ["priority", "delay", "at", "debounce", "singleton"] as const;

type Members = Readonly<Record<string, unknown>>;

export function startOptions(members: Members): FlowStart {
  return {
    ...only("priority", numberIn(members, "priority")),
    ...only("delay", durationIn(members, "delay")),
    ...only("at", timeIn(members, "at")),
    ...only("debounce", debounceIn(members)),
    ...only("singleton", textIn(members, "singleton")),
  };
}

/** A value that the library refuses is a mistake of the caller. */
export async function asBody<T>(start: Promise<T>, options: FlowStart): Promise<T> {
  try {
    return await start;
  } catch (error) {
    if (Object.keys(options).length > 0 && DurableError.is(error, "invalid-options"))
      throw new HttpError("invalid-body", error.message);
    throw error;
  }
}

function timeIn(members: Members, name: string): number | undefined {
  const value = members[name];
  if (value === undefined || typeof value === "number") return value;
  const time = typeof value === "string" ? Date.parse(value) : Number.NaN;
  if (Number.isFinite(time)) return time;
  throw new HttpError(
    "invalid-body",
    `"${name}" must be milliseconds since 1970 or a date such as "2027-01-31T08:00:00Z".`,
  );
}

function debounceIn(members: Members): { key: string; wait: Duration } | undefined {
  if (members["debounce"] === undefined) return undefined;
  const debounce = membersOf(members["debounce"], ["key", "wait"]);
  const [key, wait] = [textIn(debounce, "key"), durationIn(debounce, "wait")];
  if (key !== undefined && wait !== undefined) return { key, wait };
  throw new HttpError("invalid-body", '"debounce" needs "key" and "wait".');
}
