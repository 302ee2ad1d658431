/** Bugs that show only in rare situations, which the generator makes on purpose. */
import type { PlantedBug } from "./patch.ts";

const forks: readonly PlantedBug[] = [
  {
    name: "cut-ends-at-the-parent",
    breaks: "law 9",
    find: "...cuts.filter((cut) => !theirs.every((entry) => isKept(entry, [cut])))",
    replace: "...(i < runs.length - 1 ? [] : cuts)",
    why: "A fork of a fork keeps everything that its parent has inherited, wherever it is cut.",
  },
  {
    name: "fork-input-lost",
    breaks: "law 9",
    find: "  if (forked.input !== undefined) input = forked.input;\n",
    replace: "",
    why: "A fork that was made with another input gets the input of its parent.",
  },
  {
    name: "input-of-an-ancestor-lost",
    breaks: "law 9",
    find: "if (given !== undefined) input",
    replace: 'if (first?.kind !== "run.forked" && given !== undefined) input',
    why: "A fork of a fork with another input gets the input of the first run.",
  },
  {
    name: "group-cut-at-its-first-call",
    breaks: "law 9",
    find: "at: positions.reduce(higher), keep: true",
    replace: "at: positions.reduce(lower), keep: true",
    why: "A fork after a group drops calls that did not depend on all of the group.",
    seenBy: {
      test: "packages/core/test/runs/fork-group.test.ts",
      because: "a simulated fork seldom begins after a group with calls beside it",
    },
  },
  {
    name: "group-not-inside-itself",
    breaks: "law 9",
    find: '(key[path.length] === "/" || key[path.length] === "[")',
    replace: 'key[path.length] === "/"',
    why: "A fork from a group keeps what its branches have recorded.",
  },
];

const repeats: readonly PlantedBug[] = [
  {
    name: "hand-over-drops-work",
    breaks: "worker.3",
    find: "if (this.#idleWork && !this.#outbox.appending && this.#outbox.size === 0) return this.#end(stop);",
    replace: "if (!this.#outbox.appending && this.#outbox.size === 0) return this.#end(stop);",
    why: "A driver that hands its run over does not wait for work under way, which then runs again elsewhere.",
  },
];

const streams: readonly PlantedBug[] = [
  {
    name: "late-chunks-are-written",
    breaks: "stream.1",
    find: "if (!info.over) buffer.flush();",
    replace: "buffer.flush();",
    also: [
      { find: "        signal.throwIfAborted();\n", replace: "" },
      {
        find: "      buffer.close();\n      this.#landed.set();\n",
        replace: "",
      },
    ],
    why: "Chunks that come after the timeout of their attempt are recorded after its failure.",
  },
];

const reuses: readonly PlantedBug[] = [
  {
    name: "children-of-the-deleted-run",
    breaks: "child.2",
    find: 'digest(26, "child", runId, nonce, key,',
    replace: 'digest(26, "child", runId, key,',
    why: "A run that has the id of a deleted one takes over its children.",
  },
  {
    name: "idempotency-key-of-the-deleted-run",
    breaks: "law 5",
    find: 'digest(32, "step", runId, nonce, key)',
    replace: 'digest(32, "step", runId, key)',
    why: "A run that has the id of a deleted one sends its idempotency keys, so a service answers with old results.",
  },
  {
    name: "token-of-the-deleted-run",
    breaks: "resume.1",
    find: 'markOf(nonce) + digest(6, "wait", nonce, key)',
    replace: '"aaaa" + digest(6, "wait", key)',
    also: [
      {
        find: 'mark: digest(4, "nonce", nonce)',
        replace: 'mark: "aaaa"',
      },
    ],
    why: "A token of a deleted run answers the next run of its id.",
  },
  {
    name: "old-token-looks-early",
    breaks: "resume.1",
    find: 'if (!wait.startsWith(markOf(journal.nonce))) return "unknown";',
    replace: "",
    why: "An answer to a deleted run is accepted by the next run of its id, and is never used.",
  },
];

const foreignAwaits: readonly PlantedBug[] = [
  {
    name: "foreign-await-unnoticed",
    breaks: "law 5",
    find: "if (isTimed && !this.#foreignSeen) this",
    replace: "if (isTimed && this.#foreignSeen) this",
    why: "A call after an await that is not from ctx gets its key without a warning.",
  },
];

const clocks: readonly PlantedBug[] = [
  {
    name: "deadline-read-twice",
    breaks: "law 11",
    find: "after: this.after, until, input });",
    replace: "after: this.after, until: deadline(input, this.engine.world.now()), input });",
    why: "The recorded deadline is later than the one that the driver waits for, if time passes in between.",
  },
];

const strangers: readonly PlantedBug[] = [
  {
    name: "worker-takes-every-run",
    breaks: "worker.1",
    find: "this.#app.list({ dueAt: world.now(), workflow, version, cursor })",
    replace: "this.#app.list({ dueAt: world.now(), cursor })",
    why: "A worker takes runs of workflows that it does not have, and its own runs wait behind them.",
  },
  {
    name: "sweep-sees-the-first-page",
    breaks: "worker.1",
    find: "await listRuns(host, { dueAt, workflow, limit })",
    replace:
      "{ runs: (await listRuns(host, { dueAt, limit: unknownPage })).runs.filter((run) => host.find(run.workflow) !== null) }",
    why: "A sweep never reaches runs that are due behind many runs of other workflows.",
  },
];

const renames: readonly PlantedBug[] = [
  {
    name: "old-name-of-a-wait-ignored",
    breaks: "law 5",
    find: 'kind: "suspend", input, was: options.was',
    replace: 'kind: "suspend", input',
    why: "A wait that got another name is opened again, and its answer is lost, although the code gives the old name.",
  },
  {
    name: "answer-swallowed-by-a-rename",
    breaks: "law 7",
    find: "if (vanished !== undefined) return vanishedWait",
    replace: "if (false) return vanishedWait",
    why: "A run ends although its code never reached a wait that has an answer.",
  },
];

const contexts: readonly PlantedBug[] = [
  {
    name: "work-in-the-context-of-the-loop",
    breaks: "law 11",
    find: "return this.#inContext === null ? surrounded() : this.#inContext(surrounded);",
    replace: "return surrounded();",
    why: "The work of a step sees the async context of the engine's loop, not the one in which ctx.step was called.",
  },
  {
    name: "replayed-call-without-context",
    breaks: "law 11",
    find: "engine.replay.record(call.key)?.settled === true ? null : snapshot()",
    replace: "engine.replay.record(call.key) !== undefined ? null : snapshot()",
    why: "After a crash, further attempts of a step do not see the async context in which ctx.step was called.",
  },
  {
    name: "late-branch-without-context",
    breaks: "law 11",
    find: "      startNext();\n    });",
    replace: "      nowhere(startNext);\n    });",
    also: [
      {
        find: "export function parallel(",
        replace:
          'import { snapshot } from "../../ports/async-context.ts";\nconst nowhere = snapshot();\nexport function parallel(',
      },
    ],
    why: "A branch that waited for others to end does not see the async context in which its group was called.",
  },
  {
    name: "resolution-without-context",
    breaks: "law 11",
    find: "const found = this.#attempts.inContext(() =>",
    replace: "const found = ((work) => work())(() =>",
    why: "A function in onUncertain does not see the async context in which ctx.step was called.",
  },
];

const rejections: readonly PlantedBug[] = [
  {
    name: "rejection-of-a-run-ignored",
    breaks: "engine.6",
    find: "if (owner !== undefined) return owner.blame(error);",
    replace: "if (owner !== undefined) return;",
    why: "A run goes on after an error in its code that nothing caught.",
  },
];

export const plantedInRareCases: readonly PlantedBug[] = [
  ...forks,
  ...repeats,
  ...streams,
  ...reuses,
  ...foreignAwaits,
  ...clocks,
  ...strangers,
  ...renames,
  ...contexts,
  ...rejections,
];
