/**
 * What the code says about renamed calls (`was`), against what a journal has: a name that is not recorded, and names that
 * may be swapped. Proven in test/golden-was.test.ts.
 */

import { entriesOf, type GoldenBatch } from "./journal.ts";

/** One call of the code. */
export interface AskedCall {
  readonly name: string;
  /** The name that the call had before, if the code says so. */
  readonly was: string | null;
}

interface Record {
  readonly key: string;
  readonly after: number;
}

/** Sentences about the `was` of these calls; empty when nothing is wrong with them. */
export function renameProblems(batches: readonly GoldenBatch[], asked: readonly AskedCall[]): string[] {
  const records = entriesOf(batches).flatMap(({ kind = "", key, after }): Record[] =>
    /^(?:step|stream|child|spawn)\./.test(kind) && typeof key === "string" && typeof after === "number"
      ? [{ key, after }]
      : [],
  );
  const renamed = asked.flatMap(({ name, was }) =>
    was === null ? [] : [{ name, was, record: find(records, was) }],
  );
  return [...unknown(records, renamed, asked), ...swapped(renamed)];
}

interface Renamed {
  readonly name: string;
  readonly was: string;
  readonly record: Record | undefined;
}

function unknown(
  records: readonly Record[],
  renamed: readonly Renamed[],
  asked: readonly AskedCall[],
): string[] {
  const names = asked.flatMap(({ name, was }) => [name, ...(was === null ? [] : [was])]);
  const unused = records.filter(({ key }) => !names.some((name) => isNamed(key, name)));
  const left = [...new Set(unused.map(({ key }) => `"${key}"`))].join(", ");
  return renamed
    .filter(({ record, name }) => record === undefined && find(records, name) === undefined)
    .map(
      ({ name, was }) =>
        `\`was: "${was}"\` of "${name}" names no recorded call${left === "" ? "" : `; ${left} is recorded and not asked for`}.`,
    );
}

/** Two calls in the order of the code whose records are in the other order. */
function swapped(renamed: readonly Renamed[]): string[] {
  return renamed.slice(1).flatMap((two, index) => {
    const one = renamed[index];
    if (one?.record === undefined || two.record === undefined || one.record.after <= two.record.after)
      return [];
    return [
      `The code calls "${one.name}" (was "${one.was}") before "${two.name}" (was "${two.was}"), but "${two.was}" was recorded before "${one.was}". Check that the two are not swapped.`,
    ];
  });
}

function find(records: readonly Record[], name: string): Record | undefined {
  return records.find(({ key }) => isNamed(key, name));
}

/** True when a key is the name, in any branch, or one of its repetitions. */
function isNamed(key: string, name: string): boolean {
  const first = key.replace(/#\d+$/, "");
  return first === name || first.endsWith(`/${name}`);
}
