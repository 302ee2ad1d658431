/** Bugs in runs that continue, which only a run of several chapters shows. */
import type { PlantedBug } from "./patch.ts";

export const plantedInChapters: readonly PlantedBug[] = [
  {
    name: "chapter-in-a-shared-batch",
    breaks: "chapters.1",
    file: "engine/engine.ts",
    find: 'if (end.kind === "run.continued" && this.#outbox.holds) return this.#outbox.append(null);',
    replace: "",
    why: "The last records of a chapter and the beginning of the next are one batch, so a reader of the chapter gets both.",
  },
  {
    name: "chapter-with-the-nonce-before",
    breaks: "chapters.2",
    file: "runs/chapters.ts",
    find: "nonce: newNonce(engine.world, `${runId} ${journal.chapter + 1}`),",
    replace: "nonce: journal.nonce ?? newNonce(engine.world, `${runId} ${journal.chapter + 1}`),",
    why: "A chapter has the tokens and idempotency keys of the one before.",
  },
  {
    name: "chapter-leaves-its-children",
    breaks: "chapters.3",
    file: "runs/chapters.ts",
    find: "if (child !== undefined) {",
    replace: 'if (child === "") {',
    why: "A chapter begins before a child of the one before has ended, and the child has no parent any longer.",
  },
  {
    name: "page-not-turned",
    breaks: "journal.7",
    file: "journal/journal.ts",
    find: "    this.state = new RunState();\n    this.#inherited = null;",
    replace: "    this.#inherited = null;",
    why: "In the process that ended a chapter, calls of the next one find the records of the old one.",
  },
  {
    name: "chapters-dropped-under-a-fork",
    breaks: "memory.5",
    file: "adapters/memory.ts",
    find: "if (readers.some(({ head }) => readsFrom(head, locator) < before))",
    replace: "if (readers.length > 1_000)",
    why: "Chapters are dropped although a fork reads them.",
  },
];
