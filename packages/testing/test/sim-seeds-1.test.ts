import { inject } from "vitest";
import { sweep } from "./support/sim-sweep.ts";

sweep(1, inject("full") ? 110 : 70);
