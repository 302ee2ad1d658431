/** What is noted about answers, effects and forks. Proven in test/sim.test.ts. */

import type { RunLog } from "./run-log.ts";

/** A suspend point; `run` is absent when the storage forgot the run's first batch. */
export interface NotedWait {
  readonly runId: string;
  readonly key: string;
  readonly run: RunLog | undefined;
}

/** An attempt to answer a suspend point. */
export interface AnswerAttempt extends NotedWait {
  readonly value: unknown;
  /** The message of the error, if the answer is a failure. */
  readonly failure?: string;
  /** The id under which it may be sent again. */
  readonly id: string | null;
  readonly how: "resume" | "record";
  readonly valid: boolean;
  /** The reply; null when the sender died or got an error. */
  status: string | null;
  readonly from: number;
  until: number;
}

/** An effect on the outside world, under an idempotency key. */
export interface Effect {
  readonly run: RunLog | undefined;
  readonly idempotencyKey: string;
  readonly value: unknown;
}

/** How the uncertain end of an attempt was resolved. */
export interface Decision {
  readonly run: RunLog | undefined;
  readonly key: string;
  readonly status: string;
  readonly value?: unknown;
  /** As for bodies. */
  readonly comparable: boolean;
}

/** How a fork was requested. */
export interface ForkNote {
  readonly parent: string;
  /** Null when the library chose the id. */
  readonly id: string | null;
  /** Where it goes back to; `keep` keeps the call itself. */
  readonly cuts: readonly { readonly key: string; readonly keep: boolean }[];
  /** The keys of replaced values. */
  readonly edits: readonly string[];
  readonly input?: unknown;
  /** The chapter that was asked for; the current one if it is missing. */
  readonly chapter?: number;
}
