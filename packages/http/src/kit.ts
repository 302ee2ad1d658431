/** What another server over an app shares with the handler: routing, bodies, permissions, and errors. */

export { json, statusOf } from "./errors.ts";
export { assertFree, eventStream, eventText, StreamSlots } from "./event-stream.ts";
export { forkOptionsIn } from "./forks.ts";
export { namesIn } from "./handler.ts";
export { allow, mayDo, readable, serviceOf } from "./options.ts";
export type { Allowed, Service } from "./options.ts";
export { membersOf, runIdOf, textIn } from "./request-fields.ts";
export { answerWait } from "./resume.ts";
export { answerTo, findRoute } from "./router.ts";
export type { Call, Routes } from "./router.ts";
export { routes } from "./routes.ts";
export type { Route } from "./routes.ts";
export { isForeign } from "./same-origin.ts";
export { readableSchedules } from "./schedules.ts";
export { within } from "./within.ts";
