/** Scorers: what an answer is worth, from 0 to 1. */

import type { StandardSchema } from "@durable/core";
import { plain } from "@durable/core/inspect";
import type { Judge } from "./judge.ts";
import type { Said } from "./measure.ts";
import type { GivenScore } from "./report.ts";

/** One answer to be scored, beside the one that was recorded. */
export interface Scored {
  /** The run that was recorded. */
  readonly runId: string;
  /** Its input. */
  readonly input: unknown;
  /** The answer that is expected, where the list of runs gives one. */
  readonly expected: unknown;
  /** What was recorded, and what the variant says. Both are the same when the record itself is scored. */
  readonly before: Said;
  readonly after: Said;
  /** What people and checks thought of the recorded run. */
  readonly given: readonly GivenScore[];
  /** The name of the variant; `record` for the record itself. */
  readonly variant: string;
}

/** A score from 0 to 1, true for 1 and false for 0; `null` where the score does not apply. */
export type Score = number | boolean | null;

/** A function of the answer, or a judge. */
export type Scorer = ((one: Scored) => Score | Promise<Score>) | Judge;

/** 1 where the output, or the text if there is no output, equals what is expected, or else what was recorded. */
export function exact(): Scorer {
  return ({ expected, before, after }) => {
    const given = after.output === undefined ? after.text : after.output;
    const wanted = expected ?? (before.output === undefined ? before.text : before.output);
    return sharedParts(wanted, given) === 1;
  };
}

/** 1 where the output fits a schema: zod, valibot, arktype, or any other Standard Schema. */
export function fitsSchema(schema: StandardSchema): Scorer {
  return async ({ after }) => (await schema["~standard"].validate(after.output)).issues === undefined;
}

/** Which part of the fields of the expected output, or else of the recorded one, the output has. */
export function sameFields(): Scorer {
  return ({ expected, before, after }) => sharedParts(expected ?? before.output, after.output);
}

/** Equal leaves, of the leaves of both. */
function sharedParts(wanted: unknown, given: unknown): number {
  const [before, after] = [leaves(shown(wanted)), leaves(shown(given))];
  const paths = new Set([...before.keys(), ...after.keys()]);
  const equal = [...paths].filter((path) => before.has(path) && before.get(path) === after.get(path));
  return equal.length / paths.size;
}

/** As JSON, which has no maps, sets and bigints. */
const shown = (value: unknown): unknown => (value === undefined ? value : plain(value));

function leaves(value: unknown, path = "$", found = new Map<string, string>()): Map<string, string> {
  const fields = typeof value === "object" && value !== null ? Object.entries(value) : [];
  if (fields.length === 0) found.set(path, JSON.stringify(value) ?? String(value));
  for (const [name, field] of fields) leaves(field, `${path}/${name}`, found);
  return found;
}

/** The score as a number. */
export function numberOf(score: Score): number | null {
  return typeof score === "boolean" ? Number(score) : score;
}
