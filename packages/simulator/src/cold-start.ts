/**
 * I2: a journal without its end, in a fresh storage and process and at another time, reaches the same end.
 * Proven by the planted bugs of `npm run sim:mutants`.
 */

import {
  MemoryStorage,
  createApp,
  durable,
  type AnyWorkflow,
  type Context,
  type Outcome,
} from "@durable/core";
import type { Chain } from "@durable/core/storage";
import { virtualWorld } from "@durable/testing";
import { loadJournal, observed } from "@durable/testing/parts";
import type { Disk } from "./disk.ts";
import { chapterIn } from "./chapter-inputs.ts";
import { chaptersOf, createdAt, isEnd, type RunLog, type WrittenEntry } from "./run-log.ts";
import type { Code, Program } from "./program.ts";
import type { History } from "./history.ts";
import { isByDeadline } from "./steer-checks.ts";
import { simCipher } from "./cipher.ts";
import type { Cluster } from "./cluster.ts";
import { Blobs } from "./stored-values.ts";
import { noteGiven } from "./workflow-observer.ts";

/** Replays a chapter that completed, failed or continued, and returns the outcome of the replay of an end. */
export async function coldStart(cluster: Cluster, run: RunLog): Promise<Outcome<unknown> | null> {
  const { history, programs } = cluster;
  const next = history.runs.find(({ earlier }) => earlier === run);
  const end = next === undefined ? run.batches.at(-1)?.entries.at(-1) : next.batches[0]?.entries[0];
  const lineage = history.lineage(run);
  // Foreign awaits end in another order. The beginning of a chapter ends the one before, and not the chapter itself.
  if (
    history.foreign ||
    end === undefined ||
    !(next === undefined ? /^run\.(completed|failed)$/ : /^run\.continued$/).test(end.kind) ||
    lineage.some(({ deleted, dropped }) => deleted || dropped) ||
    endsBeside(history, run, end)
  )
    return null;
  const program = programs.find(({ name }) => name === run.workflow);
  const code = codeAtTheEnd(cluster, run, next);
  if (program === undefined || code === null) return null;
  const world = virtualWorld({ start: Date.UTC(2026, 6, 1) });
  const storage = new MemoryStorage({ now: () => world.now() });
  const sealed = cluster.plan.encrypted === true ? { encryption: simCipher("b") } : {};
  for (const log of lineage.toReversed())
    await load(storage, log, cluster.disk, { cut: log === run, chain: sealed.encryption?.chain() });
  const ran: string[] = [];
  const workflow = replaying(program, code, { ran, part: run.part });
  const secret = "a secret for replays";
  const app = createApp({ workflows: [workflow], bind: false, storage, world, secret, ...sealed });
  const outcome = await world.run(app.advance(run.runId));
  // Work that the run did not wait for has no record. Work that follows from its end is new, and not the same again.
  const { abandoned = [] } = end;
  const recorded = new Set(run.batches.flatMap(({ entries }) => entries.map(({ key }) => key)));
  const again = ran.filter(
    (key) => !abandoned.includes(key) && (abandoned.length === 0 || recorded.has(key)),
  );
  if (again.length > 0)
    history.violate("I2", `run ${run.runId}: a cold start runs ${again.join(", ")} again`);
  const last = await entryAfter(storage, run, next !== undefined);
  if (endText(last) !== endText(end))
    history.violate(
      "I2",
      `run ${run.runId}: a cold start ends ${last === undefined ? outcome.status : shownEnd(last)} instead of ${shownEnd(end)}`,
    );
  if (next !== undefined) history.meet("a border that a cold start reached again");
  return next === undefined ? outcome : null;
}

/** The deadline had passed when something came from outside, and the driver was ending the run: either may come first. */
function endsBeside(history: History, run: RunLog, end: WrittenEntry): boolean {
  return isByDeadline(history, run, end) && run.batches.at(-2)?.outside === true;
}

/** What the replay wrote last, or where its next chapter begins: work that was left behind may come before. */
async function entryAfter(
  storage: MemoryStorage,
  run: RunLog,
  continued: boolean,
): Promise<WrittenEntry | undefined> {
  const from = continued ? run.offset + run.batches.length : run.offset;
  const { batches, blobs = {} } = await storage.read(run.locator, from);
  const known = new Blobs(() => {});
  known.learn(Object.entries(blobs).map(([name, body]) => ({ name, body })));
  const written = batches.flatMap((text) => (JSON.parse(text) as { entries: WrittenEntry[] }).entries);
  const found = continued ? written.find(({ kind }) => kind === "run.continued") : written.at(-1);
  return known.whole(found, run.runId, { names: new Set(), places: new Set() });
}

interface Replayed {
  readonly ran: string[];
  /** The chapter that is replayed. */
  readonly part: number;
}

/** The same workflow, with steps that only record that they were called. The next chapter does nothing. */
function replaying(program: Program, code: Code, { ran, part }: Replayed): ReturnType<typeof durable> {
  const workflow = (name: string): AnyWorkflow => durable(name, refuse);
  const work = {
    pause: refuse,
    nonce: refuse,
    mail: refuse,
    fork: refuse,
    die: refuse,
    begins: () => {},
    met: () => {},
    comesTo: null,
    defaults: false,
    pairs: null,
  };
  const body = program.body(code, {
    ...work,
    foreign: refuse,
    stray: () => {},
    effect: refuse,
    lookUp: refuse,
    workflow,
  });
  const watched = (ctx: Context, input: unknown): unknown => {
    if (chapterIn(input).chapter !== part) return "the next chapter";
    return body(
      observed(ctx, {
        // Draws the same random numbers as the first pass, in the same order.
        made: (scope, _key, result) => {
          if (result instanceof Promise) noteGiven(result, () => void scope.random("seen"));
        },
        branch: (work) => work(),
        body: (key) => {
          ran.push(key);
          return refuse();
        },
      }),
      input as never,
    );
  };
  return durable(program.name, watched);
}

function refuse(): never {
  throw new Error("A replay must not reach the outside.");
}

/** The version of the code that brought a run to its end, or to its next chapter. */
function codeAtTheEnd({ history }: Cluster, run: RunLog, next: RunLog | undefined): Code | null {
  const { process } = next?.batches[0] ?? run.batches.at(-1) ?? {};
  return history.passes.findLast((pass) => pass.run === run && pass.process === process)?.code ?? null;
}

function endText(entry: WrittenEntry | undefined): string {
  const error = entry?.error as { message?: unknown } | undefined;
  const { kind, output, chapter, input } = entry ?? {};
  return JSON.stringify([kind, output, error?.message ?? error, chapter, chapter && input]);
}

/** `completed with 5`, for people. */
function shownEnd({ kind, output, error, chapter, input }: WrittenEntry): string {
  const how = kind.replace(/^run\./, "");
  const { message } = (error ?? {}) as { readonly message?: unknown };
  if (error !== undefined) return `${how}: ${JSON.stringify(message ?? error)}`;
  return `${how} with ${JSON.stringify(chapter === undefined ? output : [chapter, input])}`;
}

/** Loads a run's batches and blobs, without its end when `cut` is true. */
async function load(
  storage: MemoryStorage,
  log: RunLog,
  disk: Disk,
  { cut, chain }: { readonly cut: boolean; readonly chain: Chain | undefined },
): Promise<void> {
  const { locator, runId, batches, offset: from } = log;
  const { blobs = {} } = await disk.read(locator, from);
  const texts: string[] = [];
  for (const { text } of batches) {
    const {
      after: _,
      seal,
      ...raw
    } = JSON.parse(text) as { entries: WrittenEntry[]; after?: string; seal?: string };
    const entries = raw.entries.filter(({ kind }) => !cut || !isEnd(kind));
    if (entries.length === 0) continue;
    const spot = { runId, position: from + texts.length };
    const whole = entries.length === raw.entries.length;
    const bare = JSON.stringify({ ...raw, entries });
    // A batch that has lost an entry needs another seal.
    const batch = whole ? text : ((seal === undefined ? undefined : await chain?.sign(bare, spot)) ?? bare);
    await chain?.check([batch], spot);
    texts.push(batch);
  }
  const [first = log] = chaptersOf(log);
  return loadJournal(storage, {
    locator,
    runId,
    createdAt: createdAt(first) ?? 0,
    batches: texts,
    blobs,
    from,
  });
}
