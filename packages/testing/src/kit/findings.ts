/** What a crash test found, as data. Proven in test/kit-report.test.ts. */

import type { Outcome } from "@durable/core";
import type { Fault } from "../faulty-storage.ts";
import type { AmbientName } from "./ambient.ts";
import type { Problem } from "./checks.ts";
import type { EffectFinding } from "./effects.ts";
import type { Point } from "./points.ts";

/** One history with a fault. */
export interface CrashCase<Output = unknown> {
  readonly point: Point;
  readonly fault: Fault;
  /** The final outcome of the run; `null` when it did not end. */
  readonly outcome: Outcome<Output> | null;
  /** False when the run took another path and never reached the point. */
  readonly hit: boolean;
  /** The number of processes it took. */
  readonly lives: number;
  /** How often each body was called, by key: of steps, of streams, and of children below the child's key. */
  readonly ran: Readonly<Record<string, number>>;
  readonly problems: readonly Problem[];
}

/** An effect that differs in some histories, and in how many. */
export interface EffectReport extends EffectFinding {
  readonly cases: number;
  /** The first of them: `append 9, dies before`. */
  readonly where: string;
}

/** A read of clock or randomness in workflow code outside of a step. */
export interface AmbientReport {
  readonly name: AmbientName;
  /** `src/refund.ts:12` */
  readonly at: string;
}

/** A step or a stream whose body ran more often than in the calm run. */
export interface RepeatedBody {
  readonly key: string;
  readonly cases: number;
  /** True when its body read the idempotency key. */
  readonly keyed: boolean;
}

export interface CrashTotals {
  readonly boundaries: number;
  readonly cases: number;
  /** Cases with a problem. */
  readonly wrong: number;
  /** Cases whose point was never reached. */
  readonly missed: number;
  /** Calls of bodies beyond those of the calm run, over all cases. */
  readonly again: number;
  /** Real time in total. */
  readonly ms: number;
  /** Virtual time of the calm run. */
  readonly virtualMs: number;
}

export interface CrashFindings<Output = unknown> {
  readonly workflow: string;
  readonly calm: {
    readonly outcome: Outcome<Output>;
    readonly ran: Readonly<Record<string, number>>;
    readonly problems: readonly Problem[];
  };
  readonly faults: readonly Fault[];
  readonly boundaries: readonly Point[];
  readonly cases: readonly CrashCase<Output>[];
  readonly repeated: readonly RepeatedBody[];
  /** Effects that differ from the calm run; `null` when none were recorded. */
  readonly effects: readonly EffectReport[] | null;
  readonly ambient: readonly AmbientReport[];
  /** Warnings of the engine and about the test itself. */
  readonly warnings: readonly string[];
  readonly totals: CrashTotals;
}
