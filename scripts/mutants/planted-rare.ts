/** Bugs that show only in rare situations, which the generator makes on purpose. */
import type { PlantedBug } from "./patch.ts";

const forks: readonly PlantedBug[] = [
  {
    name: "cut-ends-at-the-parent",
    breaks: "law 9",
    file: "runs/fork.ts",
    find: "...cuts.filter((cut) => !theirs.every((entry) => isKept(entry, [cut])))",
    replace: "...(i < runs.length - 1 ? [] : cuts)",
    why: "A fork of a fork keeps everything that its parent has inherited, wherever it is cut.",
  },
];

export const plantedInRareCases: readonly PlantedBug[] = [...forks];
