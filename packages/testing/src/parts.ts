/** What the crash tests and the simulator share. */

export { AnswerBook } from "./kit/answers.ts";
export { Budget } from "./kit/budget.ts";
export { Bodies } from "./kit/bodies.ts";
export { isSource, pulled } from "./kit/chunk-source.ts";
export { ownOptions } from "./kit/with-body.ts";
export { observed, type Observer } from "./kit/observer.ts";
export { loadJournal, type LoadedJournal } from "./journal-loader.ts";
