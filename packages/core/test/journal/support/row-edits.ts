/**
 * Random edits of every table and object that is not a journal, by a writer of the storage without the key; and what apps
 * then do. With encryption there is no run, cancel, input or answer that the app did not make.
 */

import { DurableError, type Storage } from "@durable/core";
import { fleetOf, limitUse } from "@durable/core/inspect";
import type { Entry } from "@durable/core/types";
import { seeded, type Random } from "@durable/testing";
import { ended, given, prepare, withApp, type Opened } from "./row-scene.ts";

export interface RowEdits {
  readonly tried: number;
  readonly ends: Record<string, number>;
  readonly problems: string[];
}

export type Cell = string | number | bigint | boolean | Uint8Array | null;

/** A storage whose data can be set back and edited behind its back. */
export interface Stage {
  /** Keeps the data as it is now, for `edit`. */
  keep(): Promise<void>;
  /**
   * Sets the data back to what was kept, and changes one or two things; returns what they were. Often everything is due
   * besides, because workers do not look at the rest.
   */
  edit(random: Random): Promise<string>;
  /** A new handle, as another process would have it. */
  open(): Storage & { close?(): Promise<void> };
  end(): Promise<void>;
}

export interface RowEditsOptions {
  readonly count: number;
  readonly seed: number;
}

export async function editRows(stage: Stage, { count, seed }: RowEditsOptions): Promise<RowEdits> {
  const ends: Record<string, number> = {};
  const problems: string[] = [];
  let tried = 0;
  try {
    await withApp(stage.open(), prepare);
    await stage.keep();
    for (; tried < count && problems.length === 0; tried++) {
      const edited = await stage.edit(seeded(seed + tried));
      const { codes, found } = await use(stage);
      for (const code of codes.length === 0 ? ["unseen"] : codes) ends[code] = (ends[code] ?? 0) + 1;
      problems.push(...found.map((problem) => `seed ${seed + tried}, ${edited}: ${problem}`));
    }
  } finally {
    await stage.end();
  }
  return { tried, ends, problems };
}

/** A column to change; often that of the keys, which decides whose run a start gets. */
export function pickColumn<C>(random: Random, columns: readonly C[], nameOf: (column: C) => string): C {
  const keyed = columns.filter((column) => nameOf(column) === "singleton");
  return random.pick([...columns, ...Array.from({ length: 6 }, () => keyed).flat()]);
}

/** The keys that runs have here, as the storage writes them. */
export const ownedKeys = ["one key", "debounce key"] as const;

/** Another value for a cell; `others` are those of other rows. */
export function changedCell(random: Random, value: Cell, others: readonly Cell[]): Cell {
  const text = typeof value === "string" ? value : "";
  return random.pick<() => Cell>([
    () => random.pick(others),
    () => null,
    () => 0,
    () => random.between(0, 2 ** 31),
    () => random.pick([...ownedKeys, "wait", "other", "running", "completed", "v-1", "m-1"]),
    ...Array.from({ length: 6 }, () => () => changedText(random, text)),
  ])();
}

/** A text with something else in it: often what a schedule, a lease or a head would have. */
export function changedText(random: Random, text: string): string {
  // The sums of a tree of runs, sealed or not.
  if (/^sealed |^{"spent"/.test(text) && random.chance(0.5))
    return JSON.stringify({ spent: 0, held: {}, raises: { w: 100 } });
  // A window of a rate or of a quota: turns that never come, or amounts of another kind.
  if (/^\[("\[)?\d/.test(text) && random.chance(0.5))
    return text.replace(/\d+/, random.pick(["0", "-1", "null", "1e300", '\\"x\\"', "[]"]));
  return random.pick<() => string>([
    () => text.replace(/(\\?)"paused\1":(true|false)/, '$1"paused$1":false').replace(...afterStart),
    () => text.replace(/(\\?"cron\\?":\\?")[^"\\]*/, "$1* * * * *").replace(...afterStart),
    () => text.replace(/(\\?"missed\\?":\\?")\w+/, "$1all").replace(...afterStart),
    () =>
      text.replace(
        /(\\?)"pending\1":null/,
        '$1"pending$1":{$1"at$1":0,$1"runId$1":$1"yearly-19700101T000000Z$1",$1"cancels$1":$1"v-1$1"}',
      ),
    () => text.replace(/(\\?)"last\1":null/, '$1"last$1":{$1"at$1":0,$1"runId$1":$1"v-1$1"}'),
    () => text.replace(/,?(\\?)"seal\1":\\?"[^"\\]*\\?"/, "").replace(...afterStart),
    () => text.slice(0, random.between(0, text.length)),
    () => text.replace(/"(usage|inherited)":\[/, '"$1":7,"other":['),
  ])();
}

const afterStart = [/(\\?"after\\?":)\d+/, "$10"] as const;

/** Does what an app does, and compares the journals with what it was given. */
export async function use(
  stage: Pick<Stage, "open">,
): Promise<{ readonly codes: string[]; readonly found: string[] }> {
  const codes: string[] = [];
  const found: string[] = [];
  const attempt = async <T>(work: () => Promise<T>): Promise<T | null> => {
    try {
      return await work();
    } catch (error) {
      if (!DurableError.is(error)) found.push(`thrown ${String(error)}`);
      codes.push(DurableError.is(error) ? error.code : "thrown");
      return null;
    }
  };
  await attempt(() => withApp(stage.open(), actAndCompare, () => void codes.push("warned")));
  return { codes: codes.filter((code) => code !== "not-found"), found };

  async function actAndCompare({ app, storage, hasKeys }: Opened): Promise<void> {
    await attempt(() => app.schedules.fire());
    if (hasKeys) {
      const later = { key: "key", wait: "30 days" } as const;
      for (const [workflow, owner, input, id, by] of [
        ["wait", "v-one", "new", "n-1", { singleton: "key" }],
        ["wait", "v-later", "moved", "n-2", { debounce: later }],
        ["rated", "n-3", "new", "n-3", {}],
        ["parent", "n-4", "new", "n-4", {}],
      ] as const) {
        const run = await attempt(() => app.start(workflow, input, { id, ...by, drive: false }));
        if (run !== null && run.id !== id && run.id !== owner)
          found.push(`the start of ${id} was answered with ${run.id}`);
      }
    }
    await attempt(() => app.sweep());
    // What people look at may be wrong, but it is there, or its error has a code.
    await attempt(() => fleetOf(app, { states: true }));
    await attempt(() => limitUse(storage));
    await attempt(() => app.spend({ by: "model" }));
    const ids = new Set(Object.keys(given));
    const listed = [{}, { tags: { tenant: "v" } }, { waiting: true }] as const;
    for (const query of listed) {
      if ("tags" in query && storage.finds !== true) continue;
      for (const { runId } of (await attempt(() => app.list({ limit: 1_000, ...query })))?.runs ?? [])
        ids.add(runId);
    }
    for (const id of ids)
      for (const entry of (await attempt(() => app.get(id).entries())) ?? [])
        found.push(...wrongIn(id, entry));
  }
}

/** What an entry says that the app has not made. */
function wrongIn(id: string, entry: Entry): string[] {
  const found: string[] = [];
  if (!(id in given)) found.push(`there is a run ${id}`);
  const input = "input" in entry && entry.kind.startsWith("run.") ? entry.input : undefined;
  if (input !== undefined && !given[id]?.includes(input as string))
    found.push(`run ${id} has the input ${JSON.stringify(input)}`);
  const isUnpaid = "key" in entry && entry.key === "more" && entry.kind.startsWith("step.");
  const isEnd = /run\.(completed|failed)/.test(entry.kind) && !ended.has(id);
  if (isUnpaid || isEnd || /cancel|answered|resolved|message/.test(entry.kind))
    found.push(`run ${id} has ${entry.kind}`);
  return found;
}
