/**
 * How long a test of many histories may take, in real time. Test runners give up after five seconds, and then say nothing of
 * what was tried. Proven in test/kit-budget.test.ts and in test/explore.test.ts of the simulator.
 */

import type { Duration } from "@durable/core";
import { toMs } from "@durable/core/storage";

/** Overrides the default, for a nightly job that has more time: `DURABLE_TEST_WITHIN=10m`. */
const variable = "DURABLE_TEST_WITHIN";

/** A budget that begins now. */
export class Budget {
  readonly #until: number;

  constructor(within: Duration | undefined) {
    const given = within ?? (process.env[variable] as Duration | undefined) ?? "4s";
    this.#until = performance.now() + toMs(given, within === undefined ? variable : "within");
  }

  /** Milliseconds that are left; at least 0. */
  get leftMs(): number {
    return Math.max(0, this.#until - performance.now());
  }
}
