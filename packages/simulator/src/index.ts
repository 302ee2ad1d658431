/** The simulator: whole systems of processes, one storage and a failing network on one virtual clock. */

export { describeTree, describeViolations, eventTable } from "./report.ts";
export { exhaust, type Exhausted } from "./exhaust.ts";
export { explore } from "./explore.ts";
export type { Exploration, ExploreOptions, ExploreSettings } from "./explore.ts";
export type { NetworkFault } from "./faults.ts";
export type { TraceLine, Violation } from "./history.ts";
export { invariants } from "./invariants.ts";
export type { Plan as SimulationPlan } from "./plan.ts";
export { planOf } from "./random-plan.ts";
export { shrink, type ShrinkOptions, type Shrunk } from "./shrink.ts";
export { simulate, type SimulateOptions, type Simulation } from "./simulate.ts";
export type { Tree as WorkflowTree } from "./tree.ts";
