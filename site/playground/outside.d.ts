/** What a program imports from "playground". */
import type { Playground } from "./model.ts";

export declare const ask: Playground["ask"];
export declare const call: Playground["call"];
