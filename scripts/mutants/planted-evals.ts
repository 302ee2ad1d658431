/** Bugs in evals, in runs whose storage lost batches, and in sums of cost. */
import type { PlantedBug } from "./patch.ts";

type SeenBy = NonNullable<PlantedBug["seenBy"]>;

function seenBy(test: string): SeenBy {
  return {
    test: `packages/evals/test/${test}.test.ts`,
    because: "No simulated run is asked again by an eval.",
  };
}

const byLosses: SeenBy = {
  test: "packages/core/test/runs/lost-batches.test.ts",
  because: "No simulated storage loses batches that it has acknowledged.",
};

const byCosts: SeenBy = {
  test: "packages/core/test/inspect/pulse.test.ts",
  because: "No simulated run has prices, and none is asked for its cost.",
};

const byScores: SeenBy = {
  test: "packages/core/test/runs/score.test.ts",
  because: "No simulated run gets scores.",
};

const bySuggestions: SeenBy = {
  test: "packages/core/test/suggest.test.ts",
  because: "No simulated person searches.",
};

export const plantedInEvals: readonly PlantedBug[] = [
  {
    name: "off-the-record-runs",
    breaks: "evals.1",
    find: "if (settled === null) return this.#offTheRecord(call);",
    replace: 'if (settled === null) return call.kind === "step" ? null : this.#offTheRecord(call);',
    why: "A tool that is called with other arguments runs, and an eval moves money.",
    seenBy: seenBy("off-the-record"),
  },
  {
    name: "answered-by-name-alone",
    breaks: "evals.2",
    find: 'kind.startsWith("step.") && isOfTool(key, tool) && this.#inputs.get(key) === input,',
    replace: 'kind.startsWith("step.") && isOfTool(key, tool),',
    why: "A call of a tool gets the outcome of a call with other arguments.",
    seenBy: seenBy("off-the-record"),
  },
  {
    name: "forks-sleep",
    breaks: "evals.3",
    find: 'return asked?.own === true ? null : { kind: "sleep.fired", key, after, answered: key };',
    replace: "return null;",
    why: "An eval of a run that sleeps for a day takes a day.",
    seenBy: seenBy("killed"),
  },
  {
    name: "answers-given-out-again",
    breaks: "evals.4",
    find: 'journal.entries.flatMap((entry) => ("answered" in entry ? (entry.answered ?? []) : [])),',
    replace: "",
    why: "A fork that was killed does not know which outcomes it was given, and gets the first one again.",
    seenBy: seenBy("killed"),
  },
  {
    name: "wait-of-the-original-unnoticed",
    breaks: "evals.5",
    find: "if (original.waitsAt(key))",
    replace: "if (original.waitsAt(key) && original.at(key, kind, null) !== null)",
    why: "A fork that has come as far as its original is not scored.",
    seenBy: seenBy("off-the-record"),
  },
  {
    name: "fork-driven-by-anyone",
    breaks: "eval-forks.1",
    find: 'state.summary.eval === undefined || first.kind !== "run.forked" || !owned',
    replace: "state.summary.eval !== null",
    why: "A driver that does not know the eval runs the tools of its fork.",
    seenBy: seenBy("killed"),
  },
  {
    name: "fork-made-anew",
    breaks: "eval-forks.2",
    find: "const known = await RunJournal.open(locatorOf(options.id), await host.journals());",
    replace:
      "Object.assign(options, { id: host.world.id() });\n  const known = await RunJournal.open(locatorOf(options.id), await host.journals());",
    beside: "eval-forks.2",
    why: "Each eval makes its forks anew, and pays once more for what they asked.",
    seenBy: seenBy("killed"),
  },
  {
    name: "loss-kept-quiet",
    breaks: "lost-batches.1",
    find: "if (isMore) this.#known.set(journal.locator, journal);",
    replace: "",
    why: "A driver that has seen the lost batches goes on without a word of them.",
    seenBy: byLosses,
  },
  {
    name: "lost-starts-forgotten",
    breaks: "lost-batches.2",
    find: "[writeFact(fact, now), ...starts.map((start) => writeFact(start, now))]",
    replace: "[writeFact(fact, now)]",
    why: "A charge that may have happened is made a second time, and no person is asked.",
    seenBy: byLosses,
  },
  {
    name: "costs-by-age-of-the-run",
    breaks: "costs.1",
    find: "const cost = this.#costOf(row);\n    const day = this.#days.get(row.day);",
    replace:
      "const cost = this.#costOf(row);\n    const day = this.#days.get(run === null ? row.day : dayOf(run.createdAt));",
    why: "What a run uses counts on the day on which the run began, perhaps long before.",
    seenBy: byCosts,
  },
  {
    name: "saved-before-the-fork",
    breaks: "costs.2",
    find: "for (const row of inherited) {\n      const saved",
    replace:
      "for (const row of inherited) {\n      if (!this.#days.has(row.day)) continue;\n      const saved",
    why: "What a fork did not pay again counts as saved only if it was paid on the days that are asked for.",
    seenBy: byCosts,
  },
  {
    name: "no-score-after-the-end",
    breaks: "score.1",
    find: "const journal = await openRun(host, runId);\n  while (!isSaid(journal, fact)) {",
    replace:
      "const journal = await openRun(host, runId);\n  while (journal.state.end === null && !isSaid(journal, fact)) {",
    why: "A thumb below an answer that has ended is lost, and its sender is told that it was kept.",
    seenBy: byScores,
  },
  {
    name: "score-said-twice",
    breaks: "score.2",
    find: "while (!isSaid(journal, fact)) {",
    replace: "for (let first = true; first || !isSaid(journal, fact); first = false) {",
    why: "Every click on the same thumb makes the journal longer.",
    seenBy: byScores,
  },
  {
    name: "note-of-a-score-in-clear",
    breaks: "score.3",
    find: '"messages", "report", "note"];',
    replace: '"messages", "report"];',
    why: "What a person wrote about a customer stands unencrypted beside sealed values.",
    seenBy: byScores,
  },
  {
    name: "score-hides-a-blocked-run",
    breaks: "score.4",
    find: "  await keepBlocked(host, journal);\n",
    replace: "",
    why: "A run that waits for a person who mends its code is shown as one that goes on, once it is scored.",
    seenBy: byScores,
  },
  {
    name: "suggestion-drops-values",
    breaks: "suggest.1",
    find: "before: text.slice(at, value), typed:",
    replace: "before: head, typed:",
    why: "Taking a suggestion removes the values that were typed before it.",
    seenBy: bySuggestions,
  },
  {
    name: "suggestions-of-all-runs",
    breaks: "suggest.2",
    find: "const [newest, alike, most] = [200, 50, 12];",
    replace: "const [newest, alike, most] = [1_000, 50, 12];",
    why: "Every key in the search box reads a thousand heads.",
    seenBy: bySuggestions,
  },
];
