/** Bugs in the calls of a workflow, in answers from outside, and in workers. */
import type { PlantedBug } from "./patch.ts";

const groups: readonly PlantedBug[] = [
  {
    name: "branches-share-keys",
    breaks: "group.1",
    find: "branches.map((_, i) => scope.branch(key, names?.[i] ?? String(i))),",
    replace: 'branches.map(() => scope.branch(key, "0")),',
    why: "All branches of a group share one key scope.",
  },
  {
    name: "race-decided-by-time",
    breaks: "group.2",
    find: "    void settledOf(group, index, branch).then((result) => {\n      branch.leave();\n      if (outcome.over) return;",
    replace:
      "    void settledOf(group, index, branch).then(async (result) => {\n      branch.leave();\n      await new Promise((resolve) => void engine.world.timer(engine.world.random() * 50, resolve));\n      if (outcome.over) return;",
    why: "The winner of a race is the first by a clock, and the journal does not determine it.",
  },
  {
    name: "losers-go-on",
    breaks: "group.3",
    find: '  close(engine, scope, "abandoned");\n',
    replace: "",
    why: "The scopes of branches that lost a race stay open.",
  },
  {
    name: "failed-group-goes-on",
    breaks: "group.3",
    find: '          close(engine, other, "closed");\n',
    replace: "",
    why: "When one branch of a parallel group has failed, the others continue.",
  },
];

const suspensions: readonly PlantedBug[] = [
  {
    name: "token-of-another-wait",
    breaks: "suspend.1",
    find: "keyring.sign(engine.journal.locator, call.wait)",
    replace: "keyring.sign(engine.journal.locator, waitOf(name, engine.journal.nonce))",
    why: "A token that is read before its wait opens names the first wait with that name.",
  },
  {
    name: "verdict-not-recorded",
    breaks: "suspend.2",
    find: "    this.engine.write(fact);\n",
    replace:
      "    this.outcome.resolve(decode(this.engine.journal.state.wait(this.wait).answer?.value ?? null, this.where));\n",
    why: "An unchecked answer is given to the code at once, and every replay checks it again.",
  },
  {
    name: "bad-answer-ends-the-wait",
    breaks: "suspend.3",
    find: "      if (this.#judging === null) this.#await();\n      return;",
    replace: "      return;",
    why: "After an invalid answer the wait no longer waits for a valid one.",
  },
  {
    name: "latest-answer-first",
    breaks: "suspend.3",
    find: "answers.find(({ seq }) => seq > this.#judged)",
    replace: "answers.findLast(({ seq }) => seq > this.#judged)",
    why: "Of several answers that wait for their check, the last one is checked first.",
  },
  {
    name: "bad-answer-accepted",
    breaks: "suspend.3",
    find: "if (!result.ok) return result.issues;",
    replace: "if (!result.ok) return { value: encode(value, this.where) };",
    why: "An answer that does not fit the schema is accepted.",
  },
];

const steps: readonly PlantedBug[] = [
  {
    name: "record-not-decoded",
    breaks: "attempts.1",
    beside: "class StepCall",
    find: "this.outcome.resolve(decode(settlement.value, `output of ${this.where}`));",
    replace: "this.outcome.resolve(settlement.value);",
    why: "The code gets the encoded form of a value instead of the value.",
    seenBy: {
      test: "packages/core/test/engine/calls/step.test.ts",
      because: "a replay gives the same wrong value, and passes are compared with each other",
    },
  },
  {
    name: "failed-attempt-not-counted",
    breaks: "attempts.2",
    find: "return (this.record?.failures ?? 0) + 1;",
    replace: "return Math.max(1, Math.min(2, (this.record?.failures ?? 0) + 1));",
    why: "The third attempt and all later ones get the number 2.",
  },
  {
    name: "retry-not-recorded",
    breaks: "attempts.2",
    find: 'this.#engine.write({ kind: "attempt.failed", ...attempted, ...of, error, retryAt });',
    replace:
      'this.#engine.write({ kind: "attempt.failed", ...attempted, ...of, error, retryAt });\n    this.start(attempted.attempt + 1);',
    why: "The next attempt starts before the failed one is durable, and without its delay.",
  },
  {
    name: "bare-cause-thrown",
    breaks: "attempts.3",
    find: '    return recordedError(\n      "step-failed",',
    replace:
      '    if (cause instanceof Error) return cause as never;\n    return recordedError(\n      "step-failed",',
    why: "A failed step throws the user's own error instead of `step-failed`.",
  },
];

const heartbeats: readonly PlantedBug[] = [
  {
    name: "each-beat-recorded",
    breaks: "beats.1",
    find: "const ms = Math.max(0, this.#at + everyMs - this.#world.now());",
    replace: "const ms = 0;",
    why: "Work that beats once a second causes an append each second.",
    seenBy: {
      test: "packages/core/test/engine/calls/heartbeat.test.ts",
      because: "a simulated step does not beat",
    },
  },
  {
    name: "progress-after-its-result",
    breaks: "beats.2",
    find: "      info.beats?.end({ failed: false });\n",
    replace: "",
    also: [
      {
        find: "      this.#engine.write({ ...fact, ...info.used, ...assumed, ...this.#known(info) });\n",
        replace:
          "      this.#engine.write({ ...fact, ...info.used, ...assumed, ...this.#known(info) });\n      info.beats?.end({ failed: true });\n",
      },
    ],
    why: "The last progress of an attempt is recorded after its result.",
    seenBy: {
      test: "packages/core/test/engine/calls/heartbeat.test.ts",
      because: "a simulated step does not beat",
    },
  },
];

const answers: readonly PlantedBug[] = [
  {
    name: "no-mac-check",
    breaks: "resume.1",
    find: "if (!equal(mac(text.slice(0, 29)), text.slice(29))) return null;",
    replace: "",
    why: "A token is accepted without a check of its signature.",
  },
  {
    name: "double-resume",
    breaks: "resume.2",
    find: `  if (settled === "resolved" || answers.some(isValid(state))) return "duplicate";
  if (settled !== null || journal.state.end !== null || journal.state.undone) return "expired";`,
    replace: `  if (journal.state.end !== null) return "expired";
  if (settled === "expired" || settled === "closed") return "expired";`,
    why: "A wait that has an answer accepts another one.",
  },
  {
    name: "duplicate-read-as-expired",
    breaks: "resume.2",
    find: 'if (settled === "resolved" || answers.some(isValid(state)))',
    replace: "if (answers.some(isValid(state)))",
    why: "A second answer to a wait gets `expired` instead of `duplicate`.",
  },
  {
    name: "unchecked-answer-refuses-the-next",
    breaks: "resume.2",
    find: "answers.some(isValid(state))",
    replace: "answers.length > 0",
    why: "An answer is refused as a duplicate while an invalid one waits for its check, and both are gone.",
  },
  {
    name: "resume-before-those-recorded",
    breaks: "resume.2",
    find: "if (answers.length > 0) return answeredFact(journal, answer);",
    replace: "",
    why: "An answer by resume settles its wait before the verdicts on the answers that were recorded before it.",
    seenBy: {
      test: "packages/core/test/runs/answers-pending.test.ts",
      because: "a resume must come between an invalid answer and its check",
    },
  },
  {
    name: "acknowledged-before-written",
    breaks: "resume.3",
    find: 'const { kind } = await journal.append([fact], { outside: true });\n      if (kind === "landed") placed = now("accepted");',
    replace:
      'void journal.append([fact], { outside: true }).catch(() => {});\n      placed = now("accepted");',
    why: "A delivered answer is acknowledged while its append is in flight.",
  },
  {
    name: "wake-before-write",
    breaks: "resume.3",
    find: "const appended = await journal.append([writeFact(fact, host.world.now())], { outside: true });",
    replace: `void journal.append([writeFact(fact, host.world.now())], { outside: true }).catch(() => {});
  const appended = { kind: "landed", entries: [] };`,
    why: "The run is driven before its answer is durable.",
  },
];

const worker: readonly PlantedBug[] = [
  {
    name: "polls-once",
    breaks: "worker.1",
    find: "const cancel = world.timer(ms * (0.9 + 0.2 * world.random()), look);",
    replace: "const cancel = () => {};",
    why: "A worker asks for due runs only when it starts and when a run ends.",
  },
  {
    name: "no-places",
    breaks: "worker.2",
    find: "this.#places = options.concurrency ?? 10;",
    replace: "this.#places = 1 + (options.concurrency ?? 10);",
    why: "A worker drives more runs at a time than its concurrency allows.",
  },
  {
    name: "stop-hands-nothing-on",
    breaks: "worker.3",
    find: "const given = { signal, hooks",
    replace: "const given = { hooks",
    why: "A worker that was asked to end continues to drive its runs.",
  },
  {
    name: "killer-never-suspected",
    breaks: "worker.4",
    find: ", ...this.#suspects.optionsOf(alone) };",
    replace: " };",
    why: "A run that kills its worker every time is tried forever.",
  },
  {
    name: "suspects-forgotten",
    breaks: "worker.4",
    find: "const suspect = this.active === 0 ?",
    replace: "const suspect = this.active < 0 ?",
    why: "Once a run is suspected, the worker takes no further runs.",
  },
  {
    name: "claims-more-than-places",
    breaks: "due-work.1",
    find: "limit: free, quietMs });",
    replace: "limit: free + 10, quietMs });",
    why: "A worker claims runs that it has no place for, and other workers cannot take them.",
  },
  {
    name: "claims-for-ever",
    breaks: "due-work.1",
    find: "const quietMs = 5_000;",
    replace: "const quietMs = 10 ** 12;",
    why: "Runs that a dead worker has claimed are never driven.",
  },
  {
    name: "trusts-notices",
    breaks: "due-work.2",
    find: "const ms = listens ? this.#idleMs(sweepMs)",
    replace: "const ms = listens ? 10 ** 12",
    why: "A worker that waits for notices never looks without one, and a lost notice strands a run.",
  },
  {
    name: "claimed-again-dropped",
    breaks: "worker.1",
    find: "if (this.#active.has(runId)) this.#again.add(runId);",
    replace: "if (this.#active.has(runId)) continue;",
    why: "A run that is due again while its last drive still ends waits until its claim ends.",
    seenBy: {
      test: "packages/core/test/worker-fleet.test.ts",
      because: "the run is late and not lost, and simulated runs have no deadline of that kind",
    },
  },
  {
    name: "follows-every-notice",
    breaks: "due-work.3",
    find: "Math.min(fruitlessMs * 2 ** (this.#fruitless - 1), this.#options.intervalMs)",
    replace: "fruitlessMs",
    why: "A storage that announces work which is not there keeps a worker in a busy loop.",
    seenBy: {
      test: "packages/core/test/worker-fleet.test.ts",
      because: "a loop of requests breaks no law, and the simulator has no limit for requests",
    },
  },
];

export const plantedInCalls: readonly PlantedBug[] = [
  ...groups,
  ...suspensions,
  ...steps,
  ...heartbeats,
  ...answers,
  ...worker,
];
