/**
 * Where a drive is: one value, which the engine changes in one place (`Engine.#enter`). How far the run itself is (its code
 * runs, has settled, is frozen, is undone) is in `ending.ts`, and what the journal says about it in `fold.ts`.
 *
 *     driving -> leaving -> stopped          the run is handed over
 *        |          |
 *        +----------+-> blocked -> stopped   what was running is recorded first
 *        +----------+-> broken               the drive throws
 *        +----------+-> parked -> driving    the next drive, or code that continues by itself
 *
 * phase.1. A drive does not go back: what was entered later in this order holds until the next drive begins.
 * phase.2. A run that was blocked while it was parked is blocked in its next drive.
 */

import type { DurableError } from "../values/errors.ts";
import type { Stop } from "./stop.ts";

export type Phase =
  | { readonly kind: "driving" }
  /** This driver hands the run over: work under way is recorded, and nothing begins. */
  | { readonly kind: "leaving" }
  /** The run cannot continue with this code or configuration: only what is paid for is still recorded. */
  | { readonly kind: "blocked"; readonly error: DurableError }
  /** The storage failed. */
  | { readonly kind: "broken"; readonly error: unknown }
  /** Only waiting was left, and the run was released. `error` came while it was parked. */
  | { readonly kind: "parked"; readonly error?: DurableError }
  /** Nothing more is written. */
  | { readonly kind: "stopped"; readonly stop: Stop };

const order = ["driving", "leaving", "blocked", "broken", "parked", "stopped"];

/** The phase that holds when `next` is entered. */
export function after(phase: Phase, next: Phase): Phase {
  // The park of a run that is blocked was on its way, or the code of a parked run has failed.
  if (phase.kind === "blocked" && next.kind === "parked") return { kind: "parked", error: phase.error };
  if (phase.kind === "parked" && next.kind === "blocked")
    return { kind: "parked", error: phase.error ?? next.error };
  // A parked run was released: nothing but the next drive changes that.
  return phase.kind !== "parked" && order.indexOf(next.kind) > order.indexOf(phase.kind) ? next : phase;
}

/** The phase in which the next drive begins. */
export function begun(phase: Phase): Phase {
  const { kind } = phase;
  if (kind === "blocked" || kind === "broken") return phase;
  return kind === "parked" && phase.error !== undefined
    ? { kind: "blocked", error: phase.error }
    : { kind: "driving" };
}

/** How the drive ended; `null` while it goes on. */
export function stopOf(phase: Phase): Stop | null {
  if (phase.kind === "parked") return { kind: "suspended" };
  return phase.kind === "stopped" ? phase.stop : null;
}
