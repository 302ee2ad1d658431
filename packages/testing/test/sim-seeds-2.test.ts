import { sweep } from "./support/sim-sweep.ts";

sweep(100_001, 1_500);
