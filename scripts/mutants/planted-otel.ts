/** Bugs in hooks and logs. */
import type { PlantedBug } from "./patch.ts";

export const plantedInTelemetry: readonly PlantedBug[] = [
  {
    name: "lines-of-replayed-code",
    breaks: "log.1",
    find: "      if (repeats()) return;\n",
    replace: "",
    why: "Every replay writes the lines of all code before it once more.",
  },
  {
    name: "first-lines-lost",
    breaks: "log.1",
    find: "  return journal.lost || replay.delivered <= watch.reached;",
    replace: "  return journal.lost || replay.delivered <= watch.reached + 1;",
    why: "After a replay, code that comes to a line for the first time does not write it.",
  },
  {
    name: "hook-that-throws",
    breaks: "observer.1",
    find: "      this.failed(hooks, name, error);\n      return undefined;\n",
    replace: "      throw error;\n",
    why: "A hook that throws stops the drive of its run.",
    seenBy: {
      test: "packages/core/test/runs/hooks.test.ts",
      because: "a simulated worker drives a run again that a hook has stopped",
    },
  },
  {
    name: "work-left-to-its-hook",
    breaks: "observer.2",
    find: "      if (!called) {\n        called = true;\n",
    replace: "      {\n        called = true;\n",
    why: "A hook that calls the work twice makes it run twice.",
    seenBy: {
      test: "packages/core/test/runs/hooks.test.ts",
      because: "simulated hooks call the work once at most",
    },
  },
  {
    name: "replayed-as-live",
    breaks: "observer.3",
    find: "else if (replayed) this.#step(settlement, true);",
    replace: "else if (replayed) this.#step(settlement, false);",
    why: "Hooks count recorded work again at every replay.",
  },
];
