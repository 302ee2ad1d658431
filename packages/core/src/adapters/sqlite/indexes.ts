/** The indexes that a search for due runs must use. */

/** The index by wake time, so that a list of due runs never reads runs that sleep or have ended. */
export const dueRuns = "runs INDEXED BY runs_due";
/** The same by workflow, so that a list of some workflows never reads due runs of others. */
export const dueRunsOf = "runs INDEXED BY runs_due_by_workflow";
/** The same by version. */
export const dueRunsOfVersion = "runs INDEXED BY runs_due_by_version";
/** Runs that have ended, in the order in which they ended. */
export const endedRuns = "runs INDEXED BY runs_ended";
