/** Bugs in writing and folding: storage, journal, entries, folds, lineage. */
import type { PlantedBug } from "./patch.ts";

const journal: readonly PlantedBug[] = [
  {
    name: "look-not-taken-in",
    breaks: "journal.1",
    find: "return this.#turns.take(async () => (await this.#tail()).flatMap(({ entries }) => entries));",
    replace:
      "return this.#turns.take(async () => { if (this.position > 0) { await this.#storage.read(this.locator, this.position); return []; } return (await this.#tail()).flatMap(({ entries }) => entries); });",
    why: "After a wake-up the new entries are read, but not added to the journal in memory.",
  },
  {
    name: "stale-decision",
    breaks: "journal.1",
    find: "if (this.position !== position)",
    replace: "if (this.position < 0)",
    why: "A batch is written although new entries were read after its writer had decided.",
    seenBy: {
      test: "packages/core/test/engine/timers.test.ts",
      because:
        "a look must be under way at the very moment at which a driver decides, which chance does not bring about",
    },
  },
  {
    name: "two-appends-in-flight",
    breaks: "journal.2",
    find: "const result = this.#last === null ? work() : this.#last.then(work);",
    replace: "const result = work();",
    why: "Reads and appends of one journal overlap, so its own batch may be added to it twice.",
  },
  {
    name: "free-slot-means-landed",
    breaks: "journal.3",
    find: "if (tail.length === 0) return null;",
    replace: 'if (tail.length === 0) return { kind: "landed", entries: [] };',
    why: "After an unknown outcome a free position is taken for success, and the batch is lost.",
  },
  {
    name: "retry-under-a-new-id",
    breaks: "journal.3",
    beside: "class RunJournal",
    find: "await backOff(this.#world, tries);\n      }",
    replace: "await backOff(this.#world, tries);\n        return this.#append(facts, options);\n      }",
    why: "After an unknown outcome the append is retried under a new write id, so a first try that arrives late is not recognized.",
  },
  {
    name: "absorbs-other-drivers",
    breaks: "journal.4",
    find: "const others = tail.some(({ batch }) => !batch.outside && batch.driver !== this.driver);",
    replace: "const others = false;",
    also: [
      {
        find: "this.lost ||= this.driven && !batch.outside && batch.driver !== this.driver;",
        replace: "",
      },
      {
        find: "if (entries.some((entry) => !entry.outside)) events.lost();\n  else events.moved();",
        replace: "events.moved();",
      },
    ],
    why: "A driver accepts the entries of another driver and continues beside it.",
  },
  {
    name: "lost-driver-writes",
    breaks: "journal.5",
    find: 'if (!outside && (this.lost || this.state.end !== null)) return { kind: "lost" };',
    replace: "",
    why: "A driver that has seen another driver's batch, or the end, still appends.",
    seenBy: {
      test: "packages/core/test/journal/journal.test.ts",
      because: "a look must bring the other's batch in the one turn between a decision and its append",
    },
  },
  {
    name: "thin-read-taken",
    breaks: "journal.6",
    find: "if (this.position + batches.length !== length)",
    replace: "if (this.position < 0)",
    why: "A reply without its last batches is taken for the whole journal.",
    seenBy: {
      test: "packages/core/test/engine/lying-storage.test.ts",
      because: "it is then as good as a stale read, and what was decided on one the compare-and-swap refuses",
    },
  },
  {
    name: "shrunken-journal-taken",
    breaks: "journal.6",
    find: "if (length < this.position) throw regressed(this.runId, this.position, length === 0);",
    replace: "if (length < this.position) return [];",
    why: "A journal that lost acknowledged batches is driven as if nothing had happened.",
    seenBy: {
      test: "packages/core/test/engine/lying-storage.test.ts",
      because: "a simulated run whose storage forgot a batch is judged no longer",
    },
  },
  {
    name: "state-of-the-chapter-before",
    breaks: "journal.7",
    find: "    this.size = 0;\n    this.state = new RunState();\n",
    replace: "    this.size = 0;\n",
    why: "The driver of the next chapter still has the waits and children of the chapter before.",
    seenBy: {
      test: "packages/core/test/runs/chapters-code.test.ts",
      because: "simulated runs have one chapter",
    },
  },
];

const entries: readonly PlantedBug[] = [
  {
    name: "outside-not-marked",
    breaks: "batch.1",
    find: `\${outside ? ',"outside":true' : ""}`,
    replace: "",
    why: "A batch is not marked as written from outside.",
  },
  {
    name: "attempt-number-not-read",
    breaks: "attempts.2",
    find: 'raw["attempt"] = typeof attempt === "number" ? attempt : 1;',
    replace: 'raw["attempt"] = 1;',
    why: "The number of an attempt is written but not read back.",
    seenBy: {
      test: "packages/core/test/journal/entry.test.ts",
      because: "steps count failures by themselves: streams and their readers alone go by the number",
    },
  },
  {
    name: "one-id-for-all-batches",
    breaks: "batch.2",
    find: "const writeId = `${this.driver}.${++this.#writes}`;",
    replace: "const writeId = `${this.driver}.${Math.min(1, ++this.#writes)}`;",
    why: "Two batches of one driver have the same write id.",
  },
  {
    name: "fork-counts-from-one",
    breaks: "entry.1",
    find: "this.#seq = forked.base;",
    replace: "",
    why: "A fork numbers its own entries from 1, so positions in inherited entries get a different meaning.",
  },
];

const heads = {
  test: "packages/core/test/runs/head-sums.test.ts",
  because: "no simulation reads the sums of heads",
};

const folds: readonly PlantedBug[] = [
  {
    name: "inherited-usage-paid-again",
    breaks: "fold.9",
    find: "  if (summary.usage !== undefined) summary.inherited = summary.usage;\n  delete summary.usage;\n",
    replace: "",
    why: "A fork counts as its own what its parent has paid for.",
    seenBy: heads,
  },
  {
    name: "usage-of-one-attempt",
    breaks: "fold.9",
    find: '  if ("usage" in fact && fact.usage !== undefined)\n',
    replace: '  if ("usage" in fact && fact.usage !== undefined && fact.kind !== "attempt.failed")\n',
    why: "The tokens of an attempt that failed are missing in the sum of the run.",
    seenBy: heads,
  },
  {
    name: "answer-leaves-run-parked",
    breaks: "fold.1",
    find: '  wake(summary, isNever ? null : waits ? (summary.flow?.startAt ?? 0) : 0, at);\n  summary.status = isPaused ? "paused" : waits ? "suspended" : "running";',
    replace:
      '  if (fact.kind !== "suspend.answered") {\n    wake(summary, isNever ? null : waits ? (summary.flow?.startAt ?? 0) : 0, at);\n    summary.status = isPaused ? "paused" : waits ? "suspended" : "running";\n  }',
    why: "A run that was answered without running its code still looks parked, and no worker finds it.",
  },
  {
    name: "cancel-is-no-end",
    breaks: "fold.2",
    find: "if (ends) this.end = entry;",
    replace: 'if (ends && entry.kind !== "run.cancelled") this.end = entry;',
    why: "Entries after a cancellation still count.",
  },
  {
    name: "rejected-answer-stays",
    breaks: "waits.1",
    find: "if (isJudged(state, entry)) state.answers.shift();",
    replace: "",
    why: "A rejected answer still counts as the first, and its wait accepts no other.",
  },
  {
    name: "answer-behind-another-lost",
    breaks: "waits.1",
    find: "if (state.settled === null) state.answers.push(entry);",
    replace: "if (state.settled === null && state.answers.length === 0) state.answers.push(entry);",
    why: "An answer that was accepted behind an invalid one is never checked.",
  },
  {
    name: "driven-run-hides-its-undoing",
    breaks: "run-state.1",
    find: 'if (mark === "cancelling" || mark === "failing") return mark;',
    replace: 'if (driven !== true && (mark === "cancelling" || mark === "failing")) return mark;',
    why: "A run that cleans up is shown as one that works on.",
    seenBy: {
      test: "packages/core/test/journal/run-state.test.ts",
      because: "no check of the simulator reads the word for what a run does",
    },
  },
  {
    name: "answered-wait-counts",
    breaks: "waits.2",
    find: "const count = asked.filter(({ answers }) => answers.length === 0).length;",
    replace: "const count = asked.length;",
    why: "A run is listed among those that wait for an answer, although it has one.",
    seenBy: {
      test: "packages/core/test/runs/open-waits.test.ts",
      because: "no check of the simulator reads what heads say about waits",
    },
  },
];

const lineage: readonly PlantedBug[] = [
  {
    name: "fork-reads-all-of-its-parent",
    breaks: "lineage.1",
    find: "batches.slice(0, length - from).entries()",
    replace: "batches.entries()",
    why: "A fork sees entries that its parent wrote after the fork was made.",
  },
  {
    name: "ancestors-on-two-lines",
    breaks: "lineage.2",
    find: "let seq = base;",
    replace: "let seq = 0;",
    why: "The entries of an ancestor that is itself a fork are numbered from 1 again.",
  },
  {
    name: "open-waits-inherited",
    breaks: "lineage.3",
    find: '(inherited === "settled" && settled.has(entry.key))',
    replace: 'inherited === "settled"',
    why: "A fork inherits the open waits and failed attempts of its parent.",
  },
];

const memory: readonly PlantedBug[] = [
  {
    name: "refused-append-changes-head",
    breaks: "memory.1",
    find: "    if (gone || (kept === undefined ? 0 : lengthOf(kept)) !== position)",
    replace:
      "    if (kept !== undefined) kept.head = head;\n    if (gone || (kept === undefined ? 0 : lengthOf(kept)) !== position)",
    why: "A refused append has already replaced the head.",
  },
  {
    name: "parent-deleted-under-its-fork",
    breaks: "memory.2",
    find: "if (run?.deleted !== true || this.#readers.has(candidate)) continue;",
    replace: "if (run?.deleted !== true) continue;",
    why: "The batches of a deleted run are removed while forks still read them.",
  },
  {
    name: "blobs-of-nobody",
    breaks: "memory.3",
    find: "if (blob !== undefined && --blob.runs === 0) this.#kept.delete(name);",
    replace: "if (blob !== undefined) blob.runs -= 1;",
    why: "A blob stays although no run names it.",
    seenBy: {
      test: "packages/core/test/adapters/memory.test.ts",
      because: "nothing goes wrong, memory only fills up",
    },
  },
  {
    name: "blobs-go-with-their-first-run",
    breaks: "memory.3",
    find: "if (blob !== undefined && --blob.runs === 0) this.#kept.delete(name);",
    replace: "this.#kept.delete(name);",
    why: "A blob is deleted with the first of the runs that name it.",
    seenBy: {
      test: "packages/core/test/adapters/memory.test.ts",
      because: "simulated values are small, and stand in their batches",
    },
  },
  {
    name: "note-outlives-an-append",
    breaks: "memory.4",
    find: "    run.quietUntil = 0;\n    run.note = null;\n",
    replace: "    run.quietUntil = 0;\n",
    why: "A run that has gone on is still listed as blocked.",
    seenBy: {
      test: "packages/core/test/adapters/memory.test.ts",
      because:
        "a driver's lease removes the note before its append, so only an answer to a blocked run shows it",
    },
  },
  {
    name: "dropped-inside-a-chapter",
    breaks: "memory.5",
    find: "if (!run.chapters.includes(before)) return Promise.reject(noChapter(runId, before));",
    replace: "if (lengthOf(run) <= before) return Promise.reject(noChapter(runId, before));",
    why: "Batches are dropped up to a position inside a chapter, whose rest needs the blobs that they brought.",
    seenBy: {
      test: "packages/core/test/adapters/memory.test.ts",
      because: "simulated runs have one chapter",
    },
  },
];

export const plantedInJournals: readonly PlantedBug[] = [
  ...journal,
  ...entries,
  ...folds,
  ...lineage,
  ...memory,
];
