/**
 * What a run does not need before it is cancelled, undone, or reports to a parent. One part, because each part
 * that is loaded on its own costs a program a few hundred bytes.
 */

export { beginUndo } from "../engine/undo.ts";
export { cancelledError } from "../journal/cancelled.ts";
export { cancel, cancelChild, endSpawned } from "./cancel.ts";
export { deleteRun } from "./delete.ts";
export { reportToParent } from "./parent.ts";
