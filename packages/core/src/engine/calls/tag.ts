/**
 * Changes tags of the run.
 *
 * tag.1. A change causes no append of its own: it goes with the next batch, and is repeated after a crash that lost it.
 * tag.2. It is recorded once: replay finds it under its key, a name that no call of the workflow can have.
 * tag.3. Too many tags throw at the same call on replay: the count follows the calls, not the head, which may be ahead.
 */

import { assertTagCount, checkedTags, type TagChanges } from "../../values/run-tags.ts";
import type { Scope } from "../scope.ts";
import type { CallEngine } from "./call.ts";

/** `names` are those of the tags that the code has set so far. */
export function tag(engine: CallEngine, scope: Scope, names: Set<string>, changes: TagChanges): void {
  const where = `ctx.tag() of run ${engine.journal.runId}`;
  engine.placement.assertOutsideSteps("ctx.tag()");
  const tags = checkedTags(changes, where);
  const after = new Set(names);
  for (const [name, value] of Object.entries(tags)) after[value === null ? "delete" : "add"](name);
  const key = scope.keyOf("#tag", scope.count("#tag"));
  const isRecorded = engine.replay.record(key) !== undefined;
  if (!isRecorded) assertTagCount(after.size, where);
  names.clear();
  for (const name of after) names.add(name);
  if (!isRecorded && !scope.closed)
    engine.writeWithNext({ kind: "tag.set", key, after: engine.replay.delivered, tags });
}
