import { sweep } from "./support/sim-sweep.ts";

// Longer sweeps: npm run soak:sim.
sweep(100_001, 50);
