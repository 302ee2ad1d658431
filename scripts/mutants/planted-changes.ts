/** Planted bugs in calls whose name comes from their content. */
import type { PlantedBug } from "./patch.ts";

const seenBy = {
  test: "packages/core/test/engine/changes.test.ts",
  because: "no simulated call is named by its content",
};

export const plantedInChanges: readonly PlantedBug[] = [
  {
    name: "change-begins-beside-others",
    breaks: "changes.1",
    find: "if (!this.#doubt.over) return null;",
    replace: "if (!this.#doubt.over) return fresh;",
    why: "A changed call is asked, and paid for, before the run is blocked.",
    seenBy,
  },
  {
    name: "change-judged-at-once",
    breaks: "changes.2",
    find: "const stillMs = 1_000;",
    replace: "const stillMs = 0;",
    why: "A strand that is slow to ask for its record blocks the strand beside it.",
    seenBy,
  },
  {
    name: "kept-outcome-claimed-again",
    breaks: "changes.3",
    find: "      this.call(entry.kept);\n",
    replace: "",
    why: "The next life of the run takes a record that was kept for one that nothing asks for.",
    seenBy,
  },
];
