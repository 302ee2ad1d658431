import { sweep } from "./support/sim-sweep.ts";

sweep(1, 1_500);
