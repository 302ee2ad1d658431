/** The simulator: whole systems of processes, one storage and a failing network on one virtual clock. */

export { simulate } from "./simulate.ts";
export type { SimulateOptions, Simulation } from "./simulate.ts";
export { planOf } from "./random-plan.ts";
export type { Plan } from "./plan.ts";
export { shrink } from "./shrink.ts";
export type { ShrinkOptions, Shrunk } from "./shrink.ts";
export { describeTree, describeViolations, eventTable } from "./report.ts";
export { exhaust, type Exhausted } from "./exhaust.ts";
export { tally, unmet } from "./coverage.ts";
export { invariants } from "./invariants.ts";
export type { TraceLine, Violation } from "./history.ts";
export type { NetworkFault } from "./faults.ts";
export type { Tree } from "./tree.ts";
export { explore } from "./explore.ts";
export type { Exploration, ExploreOptions, ExploreSettings } from "./explore.ts";
export type { Program } from "./program.ts";
