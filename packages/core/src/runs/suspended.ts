/** The error of a caller that would wait for an answer. */

import type { Outcome, SuspendPoint } from "../journal/outcome.ts";
import { DurableError } from "../values/errors.ts";

export function suspendedError(outcome: Outcome<unknown> & { status: "suspended" }): DurableError {
  const names = outcome.waiting.map(({ key }) => `"${key}"`).join(", ");
  const how = outcome.waiting.some(({ topic }) => topic) ? "run.send(topic, payload), " : "";
  return new DurableError(
    "suspended",
    `Run ${outcome.runId} waits for ${names}. Use ${how}resume(token, value) with a token from error.details.waiting, or result({ wait: true }).`,
    { details: { waiting: outcome.waiting.map(withHiddenToken) } },
  );
}

/** The token can be read, but a runtime that prints an uncaught error leaves it out. */
function withHiddenToken(point: SuspendPoint): SuspendPoint {
  return Object.defineProperty({ ...point }, "token", { enumerable: false });
}
