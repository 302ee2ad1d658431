/** Bugs between the chapters of a run, and in the choice of the runs that are driven alone. */
import type { PlantedBug } from "./patch.ts";

const notAgain = "no simulated run is started a second time after its first chapter";

const chapters: readonly PlantedBug[] = [
  {
    name: "first-input-forgotten",
    breaks: "chapters.1",
    find: "first: journal.firstInput,",
    replace: 'first: "",',
    why: "A start with the first input of a run is refused once the run is in its second chapter.",
    seenBy: { test: "packages/core/test/runs/chapters.test.ts", because: notAgain },
  },
  {
    name: "chapter-in-a-shared-batch",
    breaks: "chapters.1",
    find: 'if (end.kind === "run.continued" && this.#outbox.holds) return this.#outbox.append(null);',
    replace: "",
    why: "The last records of a chapter and the beginning of the next are one batch, so a reader of the chapter gets both.",
  },
  {
    name: "chapter-with-the-nonce-before",
    breaks: "chapters.2",
    find: "const nonce = newNonce(engine.world, `${runId} ${journal.chapter + 1}`);",
    replace: "const nonce = journal.nonce ?? newNonce(engine.world, `${runId} ${journal.chapter + 1}`);",
    why: "A chapter has the tokens and idempotency keys of the one before.",
  },
  {
    name: "chapter-leaves-its-children",
    breaks: "chapters.3",
    find: "if (child !== undefined) {",
    replace: 'if (child === "") {',
    why: "A chapter begins before a child of the one before has ended, and the child has no parent any longer.",
  },
  {
    name: "page-not-turned",
    breaks: "journal.7",
    find: "    this.state = new RunState();\n    this.#inherited = null;",
    replace: "    this.#inherited = null;",
    why: "In the process that ended a chapter, calls of the next one find the records of the old one.",
  },
  {
    name: "chapters-dropped-under-a-fork",
    breaks: "memory.5",
    find: "if (readers.some(({ head }) => readsFrom(head, locator) < before))",
    replace: "if (readers.length > 1_000)",
    why: "Chapters are dropped although a fork reads them.",
  },
];

const suspects: readonly PlantedBug[] = [
  {
    name: "suspect-driven-beside-others",
    breaks: "suspects.1",
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
