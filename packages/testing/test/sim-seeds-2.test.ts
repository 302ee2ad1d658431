import { inject } from "vitest";
import { sweep } from "./support/sim-sweep.ts";

sweep(100_001, inject("full") ? 110 : 70);
