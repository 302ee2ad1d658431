/**
 * What a run does not need before it is listed, gets a message, spawns, is cancelled or undone, or reports to a parent. One
 * part, because each part that is loaded on its own costs a program a few hundred bytes.
 */

export { ChunkBuffer } from "../engine/calls/chunks.ts";
export { reconcile } from "../engine/calls/reconcile.ts";
export { beginUndo } from "../engine/undo.ts";
export { cancelledError } from "../journal/cancelled.ts";
export { cancel, cancelChild, endChildren, endSpawned } from "./cancel.ts";
export { beginning } from "./chapter-start.ts";
export { deleteById } from "./delete.ts";
export { headsBelow, listRuns } from "./list.ts";
export { reportToParent } from "./parent.ts";
export { poisoned } from "./poison.ts";
export { revive } from "./revive.ts";
export { send } from "./send.ts";
export { spawnRun } from "./spawn.ts";
export { suspendedError } from "./suspended.ts";
export { firstTags } from "./tags.ts";
export { otherVersion } from "./version.ts";
