/** What a crash test found, as data. Proven in test/kit-report.test.ts. */

import type { Outcome } from "@durable/core";
import type { Fault } from "../faulty-storage.ts";
import type { AmbientName, UnrecordedKind } from "./ambient.ts";
import type { Problem } from "./checks.ts";
import type { EffectFinding } from "./effects.ts";
import type { Point } from "./points.ts";

/** One history with a fault. */
export interface CrashCase<Output = unknown> {
  readonly point: Point;
  readonly fault: Fault;
  /** Where the run was at the end; `null` when it never ended. */
  readonly outcome: Outcome<Output> | null;
  /** False when the run took another path and never reached the point of the fault. */
  readonly hit: boolean;
  /** How many processes it took. */
  readonly lives: number;
  /** How often each step and stream ran, by key; those of children below the key of the child. */
  readonly ran: Readonly<Record<string, number>>;
  readonly problems: readonly Problem[];
}

/** An effect that differed in some histories. */
export interface EffectReport extends EffectFinding {
  /** In how many histories. */
  readonly cases: number;
  /** The first of them: `append 9, dies before`. */
  readonly where: string;
}

/** A clock or random source that workflow code read outside of a step. */
export interface AmbientReport {
  readonly name: AmbientName;
  /** `src/refund.ts:12` */
  readonly at: string;
}

/** Work that a workflow did outside of any step, or something other than `ctx` that it awaited. */
export interface OutsideReport {
  readonly kind: UnrecordedKind | "await";
  /** The name of the effect, the id of the model, or the call that came after the foreign await. */
  readonly name: string;
  /** `src/refund.ts:12` */
  readonly at: string;
}

/** A step or stream that ran more often than without faults. */
export interface RepeatedBody {
  readonly key: string;
  readonly cases: number;
  /** True when its work used the idempotency key. */
  readonly keyed: boolean;
}

/** Sums over all histories. */
export interface CrashTotals {
  readonly boundaries: number;
  /** Cases that were tried. */
  readonly cases: number;
  /** All cases: boundaries times faults. */
  readonly possible: number;
  /** Cases with a problem. */
  readonly wrong: number;
  /** Cases whose point was never reached. */
  readonly missed: number;
  /** How often steps ran beyond the run without faults, over all cases. */
  readonly again: number;
  /** Real time in all. */
  readonly ms: number;
  /** Virtual time of the run without faults. */
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
  /** Effects that differ from the run without faults; `null` when none were recorded. */
  readonly effects: readonly EffectReport[] | null;
  readonly ambient: readonly AmbientReport[];
  /** Effects and model calls outside of any step, and foreign awaits. */
  readonly outside: readonly OutsideReport[];
  /** Warnings of the engine, and mistakes that the test itself seems to have. */
  readonly warnings: readonly string[];
  readonly totals: CrashTotals;
}
