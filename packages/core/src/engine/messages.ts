/** What the engine tells people: each names the run, what was found, and the way out. */

import { decode } from "../values/codec/decode.ts";
import { encodeThrown } from "../values/codec/encode.ts";
import { DurableError, describeError } from "../values/errors.ts";
import { nameOf } from "../journal/keys.ts";

/** `thrown` is what ended the code before it could reach the wait, if anything did. */
export function vanishedWait(runId: string, key: string, thrown?: { readonly value: unknown }): DurableError {
  const name = nameOf(key);
  const where = `error of run ${runId}`;
  const branch = key.includes("/") ? ` in ${key.slice(0, key.lastIndexOf("/"))}` : "";
  const end = thrown === undefined ? "came to its end" : `failed (${describeError(thrown.value)})`;
  return new DurableError(
    "diverged",
    `Run ${runId} does not fit this code: suspend point "${key}" is open, and the code ${end} without reaching it. The wait is kept. Put ctx.suspend("${name}") back${branch}, or fork the run; then advance it again.`,
    {
      ...(thrown === undefined ? {} : { cause: decode(encodeThrown(thrown.value, where), where) }),
      details: { key, recorded: { kind: "suspend" }, asked: null },
    },
  );
}

export function orphanWarning(runId: string, orphans: readonly string[]): string {
  return `run ${runId} ended with ${orphans.length} recorded result(s) that the code no longer asks for: ${orphans.slice(0, 10).join(", ")}. If a step was renamed, { was: "old name" } keeps its result.`;
}

export function foreignWarning(runId: string, key: string): string {
  return `run ${runId} asked for "${key}" after waiting for something other than ctx. Put such waits inside a step.`;
}
