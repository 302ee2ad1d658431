/** What another server over an app shares with the handler: routing, bodies, permissions of browsers, and errors. */

export { json, statusOf } from "./errors.ts";
export { assertFree, eventStream, eventText } from "./event-stream.ts";
export { forkOptionsIn } from "./forks.ts";
export { membersOf, runIdOf, textIn } from "./request-fields.ts";
export { answerWait } from "./resume.ts";
export { answerTo, findRoute } from "./router.ts";
export type { Call, Routes } from "./router.ts";
export { isForeign } from "./same-origin.ts";
export { within } from "./within.ts";
