/** Bugs in deadlines, pauses and retries. */
import type { PlantedBug } from "./patch.ts";

const pauseTest = "packages/core/test/runs/pause.test.ts";
const retryTest = "packages/core/test/runs/retry-run.test.ts";
const gatheredTest = "packages/core/test/runs/retry-gathered.test.ts";
const belowTest = "packages/core/test/runs/retry-below.test.ts";
const deadlineTest = "packages/core/test/engine/deadline.test.ts";
const byHand = "simulated plans retry only runs without parents and children";
const noApps = "simulated storages do not keep pauses of workflows";

export const plantedInSteering: readonly PlantedBug[] = [
  {
    name: "paused-run-is-due",
    breaks: "fold.4",
    find: '(status === "paused" && !goesOn)',
    replace: "false",
    why: "The first entry after a pause makes the run running and due again.",
  },
  {
    name: "driver-ignores-a-pause",
    breaks: "fold.4",
    find: 'if (this.ending.isPaused || (this.#phase.kind === "leaving" && open))',
    replace: 'if (this.#phase.kind === "leaving" && open)',
    why: "A driver that reads the pause goes on with the run.",
  },
  {
    name: "retry-drops-chunks",
    breaks: "taken-back.1",
    beside: "taken-back.1.",
    find: '  "stream.chunks",\n',
    replace: "",
    why: "A stream that is retried uses the number of an attempt whose chunks readers have.",
    seenBy: { test: retryTest, because: "simulated readers of a failed run have ended" },
  },
  {
    name: "a-retry-that-forgets",
    breaks: "taken-back.2",
    find: "struck: [...struck, ...gone]",
    replace: "struck",
    why: "A failure that was retried, and what it cost, is shown nowhere.",
    seenBy: {
      test: "packages/core/test/inspect/view-struck.test.ts",
      because: "no simulation reads what was struck",
    },
  },
  {
    name: "deadline-goes-first",
    breaks: "deadline.1",
    find: "if (this.verdicts.pending || this.#outbox.appending || this.#outbox.size > 0) return this.#pause();\n    const failing",
    replace: "const failing",
    why: "A run fails by its deadline although an answer was recorded before.",
    seenBy: { test: deadlineTest, because: "a simulated answer rarely comes within the last drive" },
  },
  {
    name: "deadline-before-its-time",
    breaks: "deadline.1",
    find: "deadline <= this.world.now())",
    replace: "deadline - 10_000 <= this.world.now())",
    why: "A run fails before its deadline.",
  },
  {
    name: "deadline-of-a-group-in-its-scope",
    breaks: "deadline.2",
    find: 'place.scope.branch(key, "")',
    replace: "place.scope",
    why: "The deadline of a group is a call beside it, so its key can meet one of the workflow.",
    seenBy: { test: deadlineTest, because: "no simulated workflow has a call named deadline" },
  },
  {
    name: "late-branches-go-on",
    breaks: "group.4",
    find: "for (const branch of opened.scopes) giveUp(engine, branch, error);",
    replace: "",
    why: "Branches go on after the deadline of their group.",
    seenBy: { test: deadlineTest, because: "results of lost branches are recorded all the same" },
  },
  {
    name: "pause-twice",
    breaks: "steer.1",
    find: "while (journal.state.end === null && journal.state.paused === null) {",
    replace: "for (let once = true; once && journal.state.end === null; once = false) {",
    why: "A second pause of a run is a second entry, with another reason.",
    seenBy: { test: pauseTest, because: "simulated operators pause a run once" },
  },
  {
    name: "child-retried-under-its-parent",
    breaks: "steer.2",
    find: "if (known?.over === true && known.opened.child === runId)",
    replace: 'if (known?.opened.child === "")',
    why: "A child is retried although its parent has gone on with its failure.",
    seenBy: { test: retryTest, because: byHand },
  },
  {
    name: "child-not-retried",
    breaks: "steer.3",
    find: 'if (end?.kind === "run.failed") found.push(child);',
    replace: "",
    why: "A parent is retried, and finds its child failed as before.",
    seenBy: { test: retryTest, because: byHand },
  },
  {
    name: "handled-failure-taken-back",
    breaks: "failed-calls.1",
    find: 'if (typeof key === "string" && failures.has(key)) return [key];',
    replace: "if (failures.size > 0) return [...failures];",
    why: "A retry runs a step again whose failure the code had handled.",
    seenBy: { test: gatheredTest, because: "simulated workflows name the steps in their errors" },
  },
  {
    name: "retried-for-ever",
    breaks: "failed-calls.2",
    find: "return !entries.slice(last).some(isSettlement);",
    replace: "return entries.length < 0;",
    why: "Each retry takes back nothing, and the run fails in the same way again.",
    seenBy: { test: gatheredTest, because: "simulated workflows name the steps in their errors" },
  },
  {
    name: "spawned-runs-stay-cancelled",
    breaks: "steer.4",
    find: "const spawned = await reviveSpawned(host, journal);",
    replace: "const spawned: string[] = [];",
    why: "A run is retried, and those that ended with it stay cancelled.",
    seenBy: { test: belowTest, because: byHand },
  },
  {
    name: "cancellation-of-this-life-taken-back",
    breaks: "revive.1",
    find: "(state.unneeded ?? Infinity) < life",
    replace: "(state.unneeded ?? Infinity) <= life",
    why: "A child that is cancelled because its parent ends goes on when the driver of its parent looks at it.",
    seenBy: {
      test: "packages/core/test/engine/calls/child-cancel.test.ts",
      because: "simulated cancels mostly end the parent before its driver looks at the child",
    },
  },
  {
    name: "undone-run-goes-on",
    breaks: "revive.2",
    find: "return state.undoing === null && position > 1;",
    replace: "return position > 0 || state.undoing === null;",
    why: "A child that was cancelled before it began, and has no input, goes on after a retry of its parent.",
    seenBy: { test: belowTest, because: byHand },
  },
  {
    name: "foreign-run-spawned",
    breaks: "spawn.4",
    find: 'if (options.ifExists === "keep" && isSame) return;',
    replace: "if (isSame) return;",
    why: "A run that another caller has started is taken for the spawned one.",
    seenBy: {
      test: "packages/core/test/engine/calls/spawn.test.ts",
      because: "simulated spawns give no ids",
    },
  },
  {
    name: "pauses-never-read-again",
    breaks: "pauses.1",
    find: "at - this.#known.at < knownMs",
    replace: "at - this.#known.at < 1e15",
    why: "A process never notices that a workflow was paused by another one.",
    seenBy: { test: pauseTest, because: noApps },
  },
  {
    name: "pause-by-memory",
    breaks: "pauses.1",
    find: "    this.#known = null;\n    const known",
    replace: "    const known",
    why: "A pause is not written, because this process has not noticed that another one has unpaused the workflow.",
    seenBy: { test: pauseTest, because: noApps },
  },
  {
    name: "paused-workflow-keeps-its-drivers",
    breaks: "pauses.2",
    find: "if (paused.has(execution.definition.name)) execution.leave();",
    replace: "void execution;",
    why: "Runs that are driven when their workflow is paused go on to their end.",
  },
  {
    name: "paused-workflow-is-claimed",
    breaks: "due-work.4",
    beside: "class DueWork",
    find: "workflows.filter((name) => !paused.has(name))",
    replace: "workflows",
    why: "A worker claims the runs of a paused workflow again and again.",
    seenBy: { test: pauseTest, because: noApps },
  },
];
