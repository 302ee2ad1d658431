import { sweep } from "./support/sim-sweep.ts";

// Its size is that of inject("full"). Longer sweeps: npm run soak:sim.
sweep(100_001, { sample: 20, full: 500 });
