import { sweep } from "./support/sim-sweep.ts";

// Longer sweeps: npm run soak:sim.
sweep(1, 50);
