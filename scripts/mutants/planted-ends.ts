/** Bugs in clean-ups, compensations and the end of code. */
import type { PlantedBug } from "./patch.ts";

export const plantedInEnds: readonly PlantedBug[] = [
  {
    name: "cancel-replaces-a-failure",
    breaks: "fold.5",
    find: "if (this.undoing === null && this.summary.eval === undefined) this.#learnUndoable(entry);",
    replace: "if (this.summary.eval === undefined) this.#learnUndoable(entry);",
    also: [
      {
        find: "(force || !journal.state.undone)",
        replace: '(force || journal.state.undoing?.kind !== "run.cancelling")',
      },
    ],
    why: "A cancel that comes while a failed run is undone makes it end cancelled.",
  },
  {
    name: "fork-inherits-what-undid",
    breaks: "lineage.4",
    find: "const counted = beforeUndo(afterRetries(own));",
    replace: "const counted = afterRetries(own);",
    why: "A fork inherits the end of its parent's clean-up, and never does its own.",
    seenBy: {
      test: "packages/core/test/runs/undo-forks.test.ts",
      because: "forks of cancelled runs are rarely cancelled themselves",
    },
  },
  {
    name: "code-goes-on-after-its-end",
    breaks: "ending.1",
    find: "this.replay.next(this.ending.codeEnd)",
    replace: "this.replay.next()",
    why: "The code gets results that were recorded after it had been cancelled.",
    seenBy: {
      test: "packages/core/test/runs/cancelled-code.test.ts",
      because: "what the code does then is not recorded, because nothing of it begins any more",
    },
  },
  {
    name: "undone-beside-its-work",
    breaks: "ending.2",
    find: "    if (!isIdle) {\n      this.linger();\n      return false;\n    }\n",
    replace: "",
    why: "A step is undone while its work is still running.",
    seenBy: {
      test: "packages/core/test/runs/on-cancel.test.ts",
      because: "the work and its compensation are both recorded, and only their order in time is wrong",
    },
  },
  {
    name: "late-result-written",
    breaks: "ending.3",
    find: "return !this.abandoned || this.undo?.owns(fact) === true;",
    replace: "return !this.abandoned || this.undo !== null;",
    why: "The result of abandoned work is recorded after the step was undone.",
    seenBy: {
      test: "packages/core/test/runs/compensate.test.ts",
      because: "such a result is never delivered",
    },
  },
  {
    name: "undoing-before-the-code-says-how",
    breaks: "ending.4",
    find: "if (this.ending.isBehind(this)) return this.#pause();",
    replace: "",
    why: "A run whose code awaits a timer of its own is blocked, because the code did not say yet how a step is undone.",
    seenBy: {
      test: "packages/core/test/runs/undo-crash.test.ts",
      because: "few plans have such a timer before a step that is undone",
    },
  },
  {
    name: "work-before-its-clean-up",
    breaks: "fresh-calls.1",
    find: "if (holds && beginsWork(call)) held.push(call);",
    replace: "if (false) held.push(call);",
    why: "Work begins before the clean-up that was registered for it is durable.",
    seenBy: {
      test: "packages/core/test/runs/on-cancel.test.ts",
      because: "a run that is cancelled in between ends like one without a clean-up",
    },
  },
  {
    name: "undone-in-order-of-start",
    breaks: "undo.1",
    find: 'all || call === "step").toReversed()',
    replace: 'all || call === "step")',
    why: "What began first is undone first.",
  },
  {
    name: "missing-compensation-skipped",
    breaks: "undo.2",
    find: "if (known === undefined && !done) return this.#engine.block(",
    replace:
      "if (known === undefined && !done) continue;\n      if (known === null) return this.#engine.block(",
    why: "A step whose compensation the code no longer has is left as it is, without a word.",
    seenBy: {
      test: "packages/core/test/runs/compensate.test.ts",
      because: "both versions of generated code undo the same steps",
    },
  },
  {
    name: "compensations-share-a-key",
    breaks: "undo.3",
    find: 'step(engine, { scope, name: "compensate" }, work, {}),',
    replace: 'step(engine, { scope: engine.ending.undoing, name: "compensate" }, work, {}),',
    why: "Compensations are numbered, and after a crash one is taken for another.",
  },
  {
    name: "first-failure-stops-the-undoing",
    breaks: "undo.4",
    find: "      this.#uncompensated.push(key);\n",
    replace: "      this.#uncompensated.push(key);\n      return new Promise(() => {});\n",
    why: "After a compensation that failed for good, nothing more is undone.",
  },
  {
    name: "cancel-forgets-the-clean-up",
    breaks: "cancel.3",
    find: "return !force && state.undoable.size > 0;",
    replace: "return force && state.undoable.size > 0;",
    why: "A cancel ends a run at once, although it has something to clean up.",
  },
];
