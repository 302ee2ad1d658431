/** Bugs between the chapters of a run, and in the choice of the runs that are driven alone. */
import type { PlantedBug } from "./patch.ts";

const oneChapter = "simulated runs have one chapter";

const chapters: readonly PlantedBug[] = [
  {
    name: "chapter-begins-in-a-shared-batch",
    breaks: "chapters.1",
    file: "engine/engine.ts",
    find: 'if (end.kind === "run.continued" && this.#outbox.holds) return this.#outbox.append(null);',
    replace: "",
    why: "Entries of the chapter before are in the batch that begins the next one.",
    seenBy: { test: "packages/core/test/runs/chapters-open.test.ts", because: oneChapter },
  },
  {
    name: "first-input-forgotten",
    breaks: "chapters.1",
    file: "runs/chapters.ts",
    find: "first: journal.firstInput,",
    replace: 'first: "",',
    why: "A start with the first input of a run is refused once the run is in its second chapter.",
    seenBy: { test: "packages/core/test/runs/chapters.test.ts", because: oneChapter },
  },
  {
    name: "nonce-of-the-chapter-before",
    breaks: "chapters.2",
    file: "runs/chapters.ts",
    find: "nonce: newNonce(engine.world, `${runId} ${journal.chapter + 1}`),",
    replace: "nonce: journal.nonce ?? newNonce(engine.world, `${runId} ${journal.chapter + 1}`),",
    why: "A chapter has the tokens, idempotency keys and random values of the one before.",
    seenBy: { test: "packages/core/test/runs/chapters.test.ts", because: oneChapter },
  },
  {
    name: "chapter-leaves-its-children",
    breaks: "chapters.3",
    file: "runs/chapters.ts",
    find: "if (child !== undefined) {",
    replace: "if (child === null) {",
    why: "A chapter ends before its child, whose end then reaches no parent.",
    seenBy: { test: "packages/core/test/runs/chapters-open.test.ts", because: oneChapter },
  },
];

const suspects: readonly PlantedBug[] = [
  {
    name: "suspect-driven-beside-others",
    breaks: "suspects.1",
    file: "worker.ts",
    find: "const suspect = this.active === 0 ? this.#suspects.take() : null;",
    replace: "const suspect = this.#suspects.take();",
    why: "A run that may kill its process is driven while other runs are active.",
    seenBy: {
      test: "packages/core/test/worker-suspects.test.ts",
      because: "no simulated run kills its process",
    },
  },
  {
    name: "worst-suspect-first",
    breaks: "suspects.2",
    file: "runs/suspects.ts",
    find: "toSorted(([, a], [, b]) => a - b)",
    replace: "toSorted(([, a], [, b]) => b - a)",
    why: "The run that kills its process is driven before the runs that only were beside it.",
    seenBy: {
      test: "packages/core/test/sweep-suspects.test.ts",
      because: "no simulated run kills its process",
    },
  },
];

export const plantedBetweenChapters: readonly PlantedBug[] = [...chapters, ...suspects];
