/**
 * Drives runs from a queue. A message only names a run, because all state is in the journal; messages may
 * arrive twice, late, in any order, or never. For lost messages there is `scheduled`, which finds due runs in
 * the bucket.
 *
 * C1. A message is acknowledged when the run has stopped and its next wake is scheduled.
 * C2. An invocation that dies acknowledges nothing: the queue delivers the message again, and the run is
 *     replayed.
 * C3. A run that another driver has is checked again later, because that driver may be dead.
 */

import { DurableError, type App, type Outcome } from "@durable/core";
import { assertOptions } from "@durable/core/storage";
import type { Budget } from "./budget.ts";
import { sweepOf } from "./sweep.ts";

/**
 * What the queue carries: advance this run; answer a suspend point and advance its run; go on with a sweep that began at
 * this time.
 */
export type RunMessage =
  | { readonly type: "advance"; readonly runId: string }
  | { readonly type: "resume"; readonly token: string; readonly value: unknown }
  | { readonly type: "sweep"; readonly cursor: string; readonly at: number };

/** The part of a queue binding that is used. */
export interface QueueBinding {
  send(message: RunMessage, options?: { readonly delaySeconds?: number }): Promise<unknown>;
  /** Sends up to 100 messages in one request. Without it, they are sent one by one. */
  sendBatch?(messages: Iterable<{ readonly body: RunMessage }>): Promise<unknown>;
}

/** The part of a queue message that is used. */
export interface QueueMessage {
  readonly id: string;
  readonly body: unknown;
  /** How often it was delivered, including this time. */
  readonly attempts: number;
  ack(): void;
  retry(options?: { readonly delaySeconds?: number }): void;
}

/** Options of `createConsumer`. */
export interface ConsumerOptions {
  /** Where messages for further work are sent. */
  readonly queue: QueueBinding;
  /** What this invocation may spend; without a budget, runs are driven until they stop. */
  readonly budget?: Budget | undefined;
  /** When to check a run again that is driven elsewhere: as long as a lease, 30 s by default. */
  readonly lookAgainSeconds?: number | undefined;
  /**
   * How often `scheduled` is called: 60 s by default. 0 sends a message for every due run in each sweep, for sweeps by
   * hand.
   */
  readonly sweepSeconds?: number | undefined;
}

/** The two handlers of a Worker that drives runs. */
export interface Consumer {
  /** For the `queue` handler of the Worker. */
  queue(batch: { readonly messages: readonly QueueMessage[] }): Promise<void>;
  /**
   * For the `scheduled` handler of the Worker: starts the runs of schedules, and sends a message for every run
   * that is due and was quiet for a minute; returns how many. When the budget is used up, the sweep goes on in a
   * message.
   */
  scheduled(): Promise<number>;
}

/** The longest delay of a message. Longer sleeps are found by `scheduled`, or by a chain of messages. */
const longestDelaySeconds = 86_400;
const longestRetrySeconds = 300;
/** Requests that reading the schedules leaves for the run that is started last. */
const leftBySchedules = 26;
/** A run that was started this often without progress kills its drivers. */
const maxStarts = 50;

/** Drives runs from a queue: fire and forget, with a sweep for messages that were lost. */
export function createConsumer(app: App, options: ConsumerOptions): Consumer {
  assertOptions(options, "queue budget lookAgainSeconds sweepSeconds", "createConsumer");
  const { queue, budget, lookAgainSeconds = 30, sweepSeconds = 60 } = options;
  const advance = (runId: string): Promise<Outcome<unknown>> =>
    app.advance(runId, { maxStarts, patience: 0, ...(budget && { signal: budget.signal }) });

  const send: QueueBinding["send"] = (message, given) => {
    budget?.spend();
    return queue.send(message, given);
  };
  const sweep = sweepOf(app, { queue, budget, sweepSeconds, send });

  /** Schedules the next check of a run that has not ended. */
  const follow = async (outcome: Outcome<unknown>): Promise<void> => {
    const { runId } = outcome;
    if (outcome.status === "running") {
      // Handed on by this invocation, or driven by another one.
      const delaySeconds = budget?.signal.aborted === true ? 0 : lookAgainSeconds;
      await send({ type: "advance", runId }, { delaySeconds });
    } else if (outcome.status === "suspended" && outcome.wakeAt !== null) {
      const seconds = Math.max(0, Math.ceil((outcome.wakeAt - app.world.now()) / 1_000));
      await send({ type: "advance", runId }, { delaySeconds: Math.min(seconds, longestDelaySeconds) });
    }
  };

  const take = async ({ id, body }: QueueMessage): Promise<void> => {
    const message = readMessage(body);
    if (message.type === "advance") return follow(await advance(message.runId));
    if (message.type === "sweep") return void (await sweep(message.cursor, message.at));
    // The id makes a message that arrives twice the same answer.
    const { outcome } = await app.resume(message.token, message.value, { id, drive: false });
    if (outcome !== undefined && isOpen(outcome)) await follow(await advance(outcome.runId));
  };

  return {
    async queue({ messages }) {
      for (const message of messages) {
        if (budget?.signal.aborted === true) {
          message.retry();
          continue;
        }
        try {
          await take(message);
          message.ack();
        } catch (error) {
          if (DurableError.is(error, "not-found")) message.ack();
          else message.retry({ delaySeconds: Math.min(2 ** message.attempts, longestRetrySeconds) });
          app.world.warn(`message ${message.id} of the queue: ${String(error)}`);
        }
      }
    },

    async scheduled() {
      const signal = budget?.leaving(leftBySchedules);
      await app.schedules.fire({ signal });
      return sweep("", app.world.now());
    },
  };
}

function isOpen({ status }: Outcome<unknown>): boolean {
  return status === "running" || status === "suspended";
}

/**
 * An unknown message is never acknowledged, so that after its last delivery it goes to the dead-letter queue.
 */
function readMessage(body: unknown): RunMessage {
  const { type, runId, token, value, cursor, at } = (body ?? {}) as Record<string, unknown>;
  if (type === "advance" && typeof runId === "string") return { type, runId };
  if (type === "resume" && typeof token === "string") return { type, token, value };
  if (type === "sweep" && typeof cursor === "string" && typeof at === "number") return { type, cursor, at };
  throw new DurableError(
    "invalid-input",
    'The message is neither { type: "advance", runId } nor { type: "resume", token, value } nor { type: "sweep", cursor, at }.',
  );
}
