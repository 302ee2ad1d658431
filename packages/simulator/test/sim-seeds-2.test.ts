import { sweep } from "./support/sim-sweep.ts";

// Its size is that of inject("full"). Longer sweeps: npm run soak:sim.
// The sample has short histories that meet many events between them.
const sample = [5, 12, 21, 29, 38, 40, 49, 51, 53, 56, 58, 61, 71].map((seed) => 100_000 + seed);
sweep(100_001, { sample, full: 500 });
