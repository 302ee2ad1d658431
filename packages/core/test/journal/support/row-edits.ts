/**
 * Random edits of every table and object that is not a journal, by a writer of the storage without the key; and what apps
 * then do. With encryption there is no run, cancel, input or answer that the app did not make.
 */

import { createApp, durable, DurableError, type App, type Storage } from "@durable/core";
import { aesGcm } from "@durable/core/encryption";
import { seeded, type Random } from "@durable/testing";
import { systemWorld } from "../../../src/ports/world.ts";

const keys = { a: Uint8Array.from({ length: 32 }, (_, n) => n * 7 + 1) };
const secret = "only for this test, 32 characters";

const wait = durable("wait", async (ctx, input: string) => [input, await ctx.suspend("go")]);
const other = durable("other", async (ctx, input: string) => [input, await ctx.suspend("go")]);
/** Asks for more after the first call. */
const spend = durable(
  "spend",
  async (ctx, input: string) => {
    for (const name of ["allowed", "more"])
      await ctx.step(name, ({ meter }) =>
        meter({ model: "m", inputTokens: input.length, outputTokens: 0, cost: 1 }),
      );
  },
  { budget: { most: 1, tree: true, warnAt: 5 } },
);

/** Inputs that the app gave, by run. */
const given: Readonly<Record<string, readonly string[]>> = {
  "v-1": ["private"],
  "v-one": ["private"],
  "v-later": ["private", "moved"],
  "m-1": ["attacker"],
  "m-2": ["attacker"],
  "b-1": ["private"],
  "n-1": ["new"],
  "n-2": ["moved"],
};

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
    await withApp(stage, prepare);
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

async function withApp<T>(
  stage: Stage,
  work: (app: App, hasKeys: boolean) => Promise<T>,
  warn: (line: string) => void = () => {},
): Promise<T> {
  const storage = stage.open();
  const encryption = aesGcm({ current: "a", keys });
  const app = createApp({
    storage,
    secret,
    encryption,
    // Trees need a storage with limits.
    workflows: [wait, other, ...(storage.limits === undefined ? [] : [spend])],
    patience: 0,
    bind: false,
    world: { ...systemWorld, warn },
  });
  try {
    return await work(app, storage.limits !== undefined);
  } finally {
    await app.close();
    await storage.close?.();
  }
}

async function prepare(app: App, hasKeys: boolean): Promise<void> {
  const parked = async (workflow: "wait" | "other", id: string, singleton?: string): Promise<void> => {
    const run = await app.start(workflow, given[id]?.[0] ?? "", { id, ...(hasKeys && { singleton }) });
    await run.result().catch(() => {});
  };
  await parked("wait", "v-1");
  await parked("wait", "v-one", "key");
  await parked("wait", "m-1");
  await parked("other", "m-2", "key");
  if (hasKeys) await app.run("spend", "private", { id: "b-1" });
  const debounce = { key: "key", wait: "30 days" } as const;
  const later = hasKeys ? { debounce } : ({ delay: "30 days" } as const);
  await app.start("wait", "private", { id: "v-later", ...later, drive: false });
  await app.schedule("yearly", wait, { cron: "0 0 1 1 *", overlap: "cancel", input: "private" });
  // Due far from now: an older row of the same schedule, which a writer may restore, must not come due while this runs.
  await app.schedule("paused", other, { cron: "0 0 29 2 *", missed: "all", input: "private" });
  await app.schedules.pause("paused");
  await app.pause("other", { reason: "no work today" });
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
  ])();
}

const afterStart = [/(\\?"after\\?":)\d+/, "$10"] as const;

/** Does what an app does, and compares the journals with what it was given. */
async function use(stage: Stage): Promise<{ readonly codes: string[]; readonly found: string[] }> {
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
  await attempt(() => withApp(stage, actAndCompare, () => void codes.push("warned")));
  return { codes: codes.filter((code) => code !== "not-found"), found };

  async function actAndCompare(app: App, hasKeys: boolean): Promise<void> {
    await attempt(() => app.schedules.fire());
    if (hasKeys) {
      const later = { key: "key", wait: "30 days" } as const;
      for (const [owner, input, id, by] of [
        ["v-one", "new", "n-1", { singleton: "key" }],
        ["v-later", "moved", "n-2", { debounce: later }],
      ] as const) {
        const run = await attempt(() => app.start("wait", input, { id, ...by, drive: false }));
        if (run !== null && run.id !== id && run.id !== owner)
          found.push(`the start of ${id} was answered with ${run.id}`);
      }
    }
    await attempt(() => app.sweep());
    const ids = new Set(Object.keys(given));
    for (const { runId } of (await attempt(() => app.list({ limit: 1_000 })))?.runs ?? []) ids.add(runId);
    for (const id of ids) {
      const entries = (await attempt(() => app.get(id).entries())) ?? [];
      for (const entry of entries) {
        if (!(id in given)) found.push(`there is a run ${id}`);
        const input = "input" in entry && entry.kind.startsWith("run.") ? entry.input : undefined;
        if (input !== undefined && !given[id]?.includes(input as string))
          found.push(`run ${id} has the input ${JSON.stringify(input)}`);
        const isUnpaid = "key" in entry && entry.key === "more" && entry.kind.startsWith("step.");
        if (isUnpaid || /cancel|answered|resolved|message|run\.(completed|failed)/.test(entry.kind))
          found.push(`run ${id} has ${entry.kind}`);
      }
    }
  }
}
