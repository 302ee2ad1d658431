/**
 * The sweep: sends a message for every run that is due and may have lost its own. Proven in test/sweep.test.ts.
 *
 * S1. A sweep whose budget is used up goes on in a message of its own, from where it stopped. The time of its beginning
 *     goes with it.
 * S2. A run gets a message when it was quiet for a minute, and again after each five minutes: the message before may still
 *     be in the queue.
 */

import type { App, ListedRun, ListPage } from "@durable/core";
import type { ConsumerOptions, QueueBinding } from "./consumer.ts";

const mostInBatch = 100;
/** A run is sent when it was quiet for this time, and again after each `againMs`. */
const quietMs = 60_000;
const againMs = 300_000;
/** Requests that a sweep leaves for the run that it reads last, whose log may be long, and for its messages. */
const leftBySweep = 16;

interface SweepParts extends Pick<ConsumerOptions, "queue" | "budget"> {
  readonly sweepSeconds: number;
  /** Sends one message, and counts it. */
  readonly send: QueueBinding["send"];
}

/** Sends messages for due runs, from a cursor on; returns how many. */
export function sweepOf(
  app: App,
  { queue, budget, sweepSeconds, send }: SweepParts,
): (cursor: string, at: number) => Promise<number> {
  /** Sends the messages of a page, in as few requests as possible. */
  const sendAll = async (runIds: readonly string[]): Promise<void> => {
    const bodies = runIds.map((runId) => ({ body: { type: "advance", runId } as const }));
    if (queue.sendBatch === undefined) for (const { body } of bodies) await send(body);
    else
      for (let from = 0; from < bodies.length; from += mostInBatch) {
        budget?.spend();
        await queue.sendBatch(bodies.slice(from, from + mostInBatch));
      }
  };
  const isWanted = ({ workflow, updatedAt, dueSince }: ListedRun, at: number): boolean => {
    const quiet = at - Math.max(updatedAt, dueSince ?? 0) - quietMs;
    const isTime = sweepSeconds === 0 || (quiet >= 0 && quiet % againMs < sweepSeconds * 1_000);
    return app.workflows.includes(workflow) && isTime;
  };
  // Without a batch, each message is a request.
  const limit = queue.sendBatch === undefined && budget !== undefined ? leftBySweep / 4 : undefined;

  return async (cursor, at) => {
    const signal = budget?.leaving(leftBySweep);
    let sent = 0;
    for (let next: string | null = cursor; next !== null;) {
      if (signal?.aborted === true) {
        await send({ type: "sweep", cursor: next, at });
        break;
      }
      const page: ListPage<ListedRun> = await app.list({ dueAt: at, cursor: next, limit, signal });
      const wanted = page.runs.filter((run) => isWanted(run, at)).map(({ runId }) => runId);
      await sendAll(wanted);
      sent += wanted.length;
      ({ next } = page);
    }
    return sent;
  };
}
