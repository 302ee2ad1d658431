import { sweep } from "./support/sim-sweep.ts";

// Its size is that of inject("full"). Longer sweeps: npm run soak:sim.
// The sample has short histories that meet many events between them, and a longer one.
const sample = [
  120, 147, 131, 49, 67, 108, 89, 165, 26, 84, 73, 95, 171, 155, 128, 124, 96, 91, 86, 56, 133, 118,
];
sweep(1, { sample, full: 500 });
