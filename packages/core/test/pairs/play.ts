/** Plays a cell, and notes what its callers, its services and its lists saw. */

import type { Outcome, RunHead } from "@durable/core";
import type { Cell } from "./cells.ts";
import { canary, type Call } from "./program.ts";
import { Stage, type Open } from "./stage.ts";
import { bringTo, rival, tokenIn, type Subject } from "./states.ts";
import { issue, type Reply } from "./verbs.ts";

const minute = 60_000;

/** A run in a list. */
export interface SeenRun {
  readonly head: RunHead;
  readonly status: string;
  /** Keys of open waits. */
  readonly waiting: readonly string[];
  readonly wakeAt: number | null;
  readonly output: { readonly answer?: unknown; readonly note?: unknown } | null;
  /** The code of the error of a run that failed or is blocked. */
  readonly code: string | null;
}

export type SeenRuns = ReadonlyMap<string, SeenRun>;

export interface Seen {
  readonly cell: Cell;
  readonly subject: Subject;
  /** The runs before the verbs. */
  readonly before: SeenRuns;
  /** When the verbs were issued, and when the last of them was done. */
  readonly issuedAt: number;
  readonly doneAt: number;
  readonly replies: readonly Reply[];
  /** Five seconds later, without a further driver. */
  readonly soon: SeenRuns;
  /** When no run did anything by itself any more. */
  readonly rest: SeenRuns;
  readonly restAt: number;
  /** After the right code was deployed, every pause ended and every wait answered. */
  readonly end: SeenRuns;
  readonly calls: readonly Call[];
  /** Plain texts that were found in the storage. */
  readonly leaks: readonly string[];
  /** The same for a copy. */
  readonly copy: {
    readonly before: SeenRuns;
    readonly end: SeenRuns;
    readonly calls: readonly Call[];
  } | null;
}

export function play(cell: Cell, open: Open): Promise<Seen> {
  return Stage.play(cell.option, open, async (stage) => {
    const subject = await bringTo(stage, cell.state);
    await rival(stage);
    stage.services.healed = true;
    const before = await look(stage);
    const issuedAt = stage.world.now();
    const replies = await stage.run(together(stage, cell, subject));
    const doneAt = stage.world.now();
    await stage.pass(5_000);
    const soon = await look(stage);
    await stage.drain();
    const rest = await look(stage);
    const restAt = stage.world.now();
    await finish(stage);
    const end = await look(stage);
    return {
      cell,
      subject,
      before,
      issuedAt,
      doneAt,
      replies,
      soon,
      rest,
      restAt,
      end,
      calls: stage.services.calls,
      leaks: cell.option === "encryption" ? await leaks(stage) : [],
      copy: await copied(stage, replies),
    };
  });
}

/** Issues the verbs of a cell. One that takes longer than an hour hangs. */
function together(stage: Stage, { verbs, sameProcess, apartMs }: Cell, subject: Subject): Promise<Reply[]> {
  const later = (ms: number): Promise<void> => new Promise((resolve) => void stage.world.timer(ms, resolve));
  return Promise.all(
    verbs.map(async (verb, nth) => {
      if (nth > 0 && apartMs > 0) await later(apartMs);
      const hung = later(60 * minute).then((): Reply => ({ verb, word: "hung" }));
      return Promise.race([issue(verb, { stage, subject, sameProcess, nth }), hung]);
    }),
  );
}

async function look(stage: Stage): Promise<SeenRuns> {
  const seen = new Map<string, SeenRun>();
  const app = stage.app(stage.code);
  for (const head of await stage.heads(app)) {
    const outcome = await stage.run(app.get(head.runId).outcome());
    seen.set(head.runId, seenRun(head, outcome));
  }
  return seen;
}

function seenRun(head: RunHead, outcome: Outcome<unknown>): SeenRun {
  const { status } = outcome;
  return {
    head,
    status,
    waiting: "waiting" in outcome ? outcome.waiting.map(({ key }) => key) : [],
    wakeAt: status === "suspended" ? outcome.wakeAt : null,
    output: status === "completed" ? (outcome.output as SeenRun["output"]) : null,
    code: status === "failed" || status === "blocked" ? outcome.error.code : null,
  };
}

const hasEnded = ({ status }: SeenRun): boolean =>
  status === "completed" || status === "failed" || status === "cancelled";

/** Gives every run what it waits for, until all have ended. */
async function finish(stage: Stage): Promise<void> {
  for (const code of ["right", "changed"] as const) {
    await stage.run(stage.deploy(code));
    const app = stage.app(code);
    for (let round = 0; round < 3; round++) {
      const open = [...(await look(stage)).values()].filter((run) => !hasEnded(run));
      if (open.length === 0) return;
      for (const { head } of open) {
        const outcome = await stage.run(app.get(head.runId).outcome());
        const token = tokenIn(outcome);
        if (outcome.status === "paused") await stage.run(app.get(head.runId).unpause({ drive: false }));
        if (token !== null) await stage.run(app.resume(token, canary("finish"), { drive: false }));
      }
      await stage.drain();
    }
  }
}

/** Drives a copy to its end, in a place of its own. */
async function copied(stage: Stage, replies: readonly Reply[]): Promise<Seen["copy"]> {
  const storage = replies.length === 1 ? replies[0]?.copy : undefined;
  if (storage === undefined) return null;
  const beside = stage.beside(storage);
  const before = await look(beside);
  await finish(beside);
  const end = await look(beside);
  await beside.stop();
  return { before, end, calls: beside.services.calls };
}

/** Reads all that is stored of every run. */
async function leaks(stage: Stage): Promise<string[]> {
  const { storage } = stage;
  const { runs } = await stage.run(storage.list({ limit: 100 }));
  const found = new Set<string>();
  for (const head of runs) {
    const text = JSON.stringify([head, await stage.run(storage.read(head.locator, 0))]);
    for (const [word] of text.matchAll(/canary-\w+/g)) found.add(word);
  }
  return [...found];
}
