/** Which random mutants are tried: drawn from the files that drive, write and fold. */
import { globSync } from "node:fs";
import type { Random } from "../../packages/testing/src/random.ts";
import { isOtherCode, shuffled, type Mutant } from "./mutate.ts";
import { coreSources } from "./patch.ts";

const files = ["journal.ts", "fold.ts", "waits.ts", "lineage.ts", "resume.ts", "drive.ts", "fork.ts"];

export function* drawMutants(random: Random): Generator<Mutant, void> {
  const engine = globSync("engine/*.ts", { cwd: coreSources }).toSorted();
  for (const mutant of shuffled([...engine, ...files], random)) if (isOtherCode(mutant)) yield mutant;
}
