/** Bugs in deadlines, pauses and retries. */
import type { PlantedBug } from "./patch.ts";

const pauseTest = "packages/core/test/runs/pause.test.ts";
const retryTest = "packages/core/test/runs/retry-run.test.ts";
const deadlineTest = "packages/core/test/engine/deadline.test.ts";
const byHand = "simulated plans retry only runs without parents and children";
const noApps = "simulated storages do not keep pauses of workflows";

export const plantedInSteering: readonly PlantedBug[] = [
  {
    name: "paused-run-is-due",
    breaks: "fold.4",
    file: "journal/fold.ts",
    find: '(status === "paused" && !goesOn)',
    replace: "false",
    why: "The first entry after a pause makes the run running and due again.",
  },
  {
    name: "driver-ignores-a-pause",
    breaks: "fold.4",
    file: "engine/engine.ts",
    find: "if (this.ending.isPaused || (this.#leaving && open))",
    replace: "if (this.#leaving && open)",
    why: "A driver that reads the pause goes on with the run.",
  },
  {
    name: "retry-drops-chunks",
    breaks: "taken-back.1",
    file: "journal/taken-back.ts",
    find: '  "stream.chunks",\n',
    replace: "",
    why: "A stream that is retried uses the number of an attempt whose chunks readers have.",
    seenBy: { test: retryTest, because: "simulated readers of a failed run have ended" },
  },
  {
    name: "deadline-goes-first",
    breaks: "deadline.1",
    file: "engine/engine.ts",
    find: "if (this.verdicts.pending || this.#outbox.appending || this.#outbox.size > 0) return this.#pause();\n    const failing",
    replace: "const failing",
    why: "A run fails by its deadline although an answer was recorded before.",
    seenBy: { test: deadlineTest, because: "a simulated answer rarely comes within the last drive" },
  },
  {
    name: "deadline-before-its-time",
    breaks: "deadline.1",
    file: "engine/engine.ts",
    find: "deadline <= this.world.now())",
    replace: "deadline - 10_000 <= this.world.now())",
    why: "A run fails before its deadline.",
  },
  {
    name: "deadline-of-a-group-in-its-scope",
    breaks: "deadline.2",
    file: "engine/deadline.ts",
    find: 'place.scope.branch(key, "")',
    replace: "place.scope",
    why: "The deadline of a group is a call beside it, so its key can meet one of the workflow.",
    seenBy: { test: deadlineTest, because: "no simulated workflow has a call named deadline" },
  },
  {
    name: "late-branches-go-on",
    breaks: "group.4",
    file: "engine/calls/group.ts",
    find: "for (const branch of opened.scopes) giveUp(engine, branch, error);",
    replace: "",
    why: "Branches go on after the deadline of their group.",
    seenBy: { test: deadlineTest, because: "results of lost branches are recorded all the same" },
  },
  {
    name: "pause-twice",
    breaks: "steer.1",
    file: "runs/steer.ts",
    find: "while (journal.state.end === null && journal.state.paused === null) {",
    replace: "for (let once = true; once && journal.state.end === null; once = false) {",
    why: "A second pause of a run is a second entry, with another reason.",
    seenBy: { test: pauseTest, because: "simulated operators pause a run once" },
  },
  {
    name: "child-retried-under-its-parent",
    breaks: "steer.2",
    file: "runs/steer.ts",
    find: "if (known?.over === true && known.opened.child === runId)",
    replace: 'if (known?.opened.child === "")',
    why: "A child is retried although its parent has gone on with its failure.",
    seenBy: { test: retryTest, because: byHand },
  },
  {
    name: "child-not-retried",
    breaks: "steer.3",
    file: "runs/steer.ts",
    find: 'if (end?.kind === "run.failed") await takeBack(host, child, options, journal.runId);',
    replace: "",
    why: "A parent is retried, and finds its child failed as before.",
    seenBy: { test: retryTest, because: byHand },
  },
  {
    name: "pauses-never-read-again",
    breaks: "pauses.1",
    file: "runs/pauses.ts",
    find: "at - this.#known.at < knownMs",
    replace: "at - this.#known.at < 1e15",
    why: "A process never notices that a workflow was paused by another one.",
    seenBy: { test: pauseTest, because: noApps },
  },
  {
    name: "paused-workflow-keeps-its-drivers",
    breaks: "pauses.2",
    file: "runs/pauses.ts",
    find: "if (paused.has(execution.definition.name)) execution.leave();",
    replace: "void execution;",
    why: "Runs that are driven when their workflow is paused go on to their end.",
  },
  {
    name: "paused-workflow-is-claimed",
    breaks: "due-work.4",
    file: "due-work.ts",
    find: "workflows.filter((name) => !paused.has(name))",
    replace: "workflows",
    why: "A worker claims the runs of a paused workflow again and again.",
    seenBy: { test: pauseTest, because: noApps },
  },
];
