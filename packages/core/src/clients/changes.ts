/** Calls that are named by their content: a changed question is a sign of changed code. */

import type { Context } from "../engine/context.ts";
import type { ByContent } from "../engine/definition.ts";
import { DurableError } from "../values/errors.ts";

/** A call whose name ends with a fingerprint of what it asks. */
export interface AskedByContent {
  /** What calls of its kind have in common: the name without the fingerprint. */
  readonly what: string;
  readonly name: string;
  /** In messages: "request", "model call". */
  readonly sort: string;
  /** `block` stops the run before a changed question is asked, `ask` asks it. */
  readonly onChange: "block" | "ask";
  /** The function that has the option `onChange`. */
  readonly by: string;
}

/** The fingerprint at the end of a name, and the space before it. */
const ending = / [a-z2-7]{16}$/;

/** For the `byContent` of a step or stream. */
export function askedByContent(
  { runId }: Context,
  { what, name, sort, onChange, by }: AskedByContent,
): ByContent {
  if (onChange === "ask") return { isOne: () => false, choose: () => null };
  const isSame = (other: string): boolean => ending.test(other) && other.replace(ending, "") === what;
  return {
    isOne: isSame,
    choose: (unclaimed) => {
      const [old] = unclaimed.filter((one) => isSame(one.name));
      if (old === undefined) return null;
      throw new DurableError(
        "diverged",
        `Run ${runId} does not fit this code: the ${sort} "${name}" has no record, and the recorded "${old.key}" was not made. What it asks was changed, or holds a date or a random value: use ctx.now() and ctx.random(). Restore the code; or pass onChange: "ask" to ${by} to make it anew; or fork the run from "${old.key}". Then advance it again.`,
        { details: { key: old.key, asked: name } },
      );
    },
  };
}
