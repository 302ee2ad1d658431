/** Forks and their plans: one part, loaded when the first run is forked. */

export { createFork } from "../runs/fork.ts";
export { Keys } from "../runs/fork-keys.ts";
export { planFork } from "./plan.ts";
