/** Bugs in streams, children, uncertain steps, encryption, journals without a workflow, warm runs and plans. */
import type { PlantedBug } from "./patch.ts";

const streams: readonly PlantedBug[] = [
  {
    name: "stream-attempts-share-a-number",
    breaks: "stream.1",
    find: "this.#attempts.start((this.record?.attempt ?? 0) + 1);",
    replace: "this.#attempts.start((this.record?.failures ?? 0) + 1);",
    why: "After a crash the next attempt of a stream gets the number of the attempt that died.",
  },
  {
    name: "producer-never-waits",
    breaks: "stream.2",
    find: "        while (buffer.isFull && buffer.waits && !signal.aborted) await this.#landed.wait();\n",
    replace: "",
    why: "A producer that is faster than the storage fills the memory.",
    seenBy: {
      test: "packages/core/test/engine/calls/stream-held.test.ts",
      because: "nothing in a simulation measures memory",
    },
  },
  {
    name: "chunks-not-decoded",
    breaks: "stream.3",
    find: "entry.chunks.map((chunk) => decode(chunk, where))",
    replace: "entry.chunks",
    why: "The workflow gets the encoded form of chunks.",
    seenBy: {
      test: "packages/core/test/journal/golden.test.ts",
      because: "simulated chunks are texts, whose written form is the text itself",
    },
  },
  {
    name: "reader-repeats-chunks",
    breaks: "reader.1",
    find: "    if (from + i < place.next) continue;\n",
    replace: "",
    why: "A reader that continues from an index gets earlier chunks again.",
  },
  {
    name: "silence-is-the-end",
    breaks: "reader.2",
    find: "if (ended !== null) throw ended;",
    replace: "if (ended !== null) return;",
    why: "A stream that was cut off looks complete to a reader.",
  },
  {
    name: "reader-takes-the-lead",
    breaks: "reader.3",
    find: "      await host.changed(journal, host.world.now() + host.leaseMs, signal);\n",
    replace: "      await host.world.turn();\n",
    why: "A waiting reader queries the storage in a tight loop.",
  },
  {
    name: "reader-keeps-the-journal",
    breaks: "reader.4",
    find: "    journal.forget();\n",
    replace: "",
    why: "Every slow reader holds the whole journal of its run.",
    seenBy: {
      test: "packages/core/test/runs/reader-memory.test.ts",
      because: "memory is not simulated",
    },
  },
];

const children: readonly PlantedBug[] = [
  {
    name: "child-before-its-parent-knows",
    breaks: "child.1",
    find: "    if (this.#opened && this.#known?.over !== true) return this.#drive(true);\n",
    replace: "    this.#drive();\n    if (this.#opened) return;\n",
    why: "A child begins while its parent's entry is still in flight.",
  },
  {
    name: "child-id-of-its-driver",
    breaks: "child.2",
    find: "childIdOf(journal.runId, key, journal.nonce)",
    replace:
      "childIdOf(journal.runId, `${key} ${(journal as unknown as { driver: string }).driver}`, journal.nonce)",
    why: "Each driver of a parent creates new children.",
  },
  {
    name: "child-ends-without-a-word",
    breaks: "child.3",
    find: "    if (traitsOf(end).ends) await this.options.reportEnd(end);\n",
    replace: "",
    why: "A child does not report its end to its parent, which learns of it much later.",
    seenBy: {
      test: "packages/core/test/engine/calls/child-told.test.ts",
      because: "parents look for their children, too: a word that is missing costs time alone",
    },
  },
  {
    name: "children-outlive-their-parent",
    breaks: "cancel.1",
    find: "      await cancelChild(host, { runId: child, workflow, link, life: journal.state.life }, ends);\n",
    replace: "",
    why: "The children of a cancelled run stay alive.",
  },
  {
    name: "unborn-child-left-alone",
    breaks: "cancel.2",
    find: "    return cancelChild(host, child, given);\n  }\n",
    replace: "    return cancelChild(host, child, given);\n  }\n  if (runId !== null) return;\n",
    why: "A child that has not begun when its parent is cancelled begins later.",
  },
];

const uncertain: readonly PlantedBug[] = [
  {
    name: "work-before-its-announcement",
    breaks: "uncertain.1",
    find: "    this.#announce(this.#nextAttempt);\n",
    replace:
      "    this.#announce(this.#nextAttempt);\n    this.#begun = this.#announced;\n    this.#attempts.start(this.#nextAttempt);\n",
    why: "An effect happens before its announcement is durable.",
  },
  {
    name: "repeated-without-asking",
    breaks: "uncertain.2",
    find: "    if (this.#announced !== record.starts) return this.#settleUncertain(record, onUncertain);\n",
    replace: "",
    why: "A step whose outcome is unknown runs again without asking.",
  },
  {
    name: "decision-not-recorded",
    breaks: "uncertain.3",
    find: "      this.engine.write(await this.#completed(attempted, resolution.value));",
    replace: "      this.outcome.resolve(resolution.value);",
    why: "The resolution of an uncertain step is given to the workflow without a record, so every replay asks again.",
  },
];

const values: readonly PlantedBug[] = [
  {
    name: "sealed-for-anywhere",
    breaks: "envelope.1",
    find: "at: joinParts([spot.position, index, fact.kind, subject, field])",
    replace: 'at: joinParts(["", "", "", "", ""])',
    why: "A value that was encrypted for one position of a run decrypts at another.",
  },
  {
    name: "clear-text-taken",
    breaks: "envelope.2",
    find: "    if (this.#cipher?.acceptsPlain ?? true) return value;",
    replace: "    if (this.#cipher !== undefined) return value;",
    why: "Unencrypted values are accepted although encryption is on.",
    seenBy: {
      test: "packages/core/test/journal/envelope.test.ts",
      because: "nobody in a simulation writes records of his own",
    },
  },
  {
    name: "blobs-sent-again",
    breaks: "envelope.3",
    find: "    if (!this.#named.has(name)) blobs.set(name, text);",
    replace: "    blobs.set(name, text);",
    also: [{ find: "    if (this.#texts.has(name)) return { name };\n", replace: "" }],
    why: "A large value is sent again with every batch that names it.",
  },
  {
    name: "blobs-taken-at-their-word",
    breaks: "envelope.4",
    find: "        if (text === body && plainName(text) !== name) continue;\n",
    replace: "",
    why: "A changed blob is read without a check against its name.",
    seenBy: {
      test: "packages/core/test/journal/blobs-wrong.test.ts",
      because: "simulated disks change no blobs",
    },
  },
];

const direct: readonly PlantedBug[] = [
  {
    name: "recorded-work-runs-again",
    breaks: "standalone.1",
    find: "    if (!this.has(key) && !this.#working.has(key)) {\n",
    replace: "    if (!this.#working.has(key)) {\n",
    why: "Work runs although its outcome is recorded.",
  },
  {
    name: "failure-kept-for-good",
    breaks: "standalone.2",
    find: 'const settles = entry.kind === "step.completed" || entry.kind === "stream.completed";',
    replace:
      'const settles = entry.kind === "step.completed" || entry.kind === "stream.completed" || entry.kind === "attempt.failed";',
    why: "Work that failed once is never tried again.",
  },
  {
    name: "last-record-stands",
    breaks: "standalone.3",
    find: "      if (settles && !this.#settled.has(entry.key)) this.#settled.set(entry.key, entry);",
    replace: "      if (settles) this.#settled.set(entry.key, entry);",
    also: [
      {
        find: '    else if ("key" in fact && this.has(fact.key)) landed.resolve();\n',
        replace: "",
      },
    ],
    why: "If two processes record one key, the later record is used.",
  },
];

const warm: readonly PlantedBug[] = [
  {
    name: "warm-runs-without-a-limit",
    breaks: "parked.1",
    find: "if (this.#kept.size <= this.#limit && this.#text <= mostText) return;",
    replace: "if (this.#kept.size > 0) return;",
    why: "Every run that was ever parked stays in memory.",
    seenBy: {
      test: "packages/core/test/runs/parked.test.ts",
      because: "nothing in a simulation measures memory",
    },
  },
  {
    name: "one-life-lent-twice",
    breaks: "parked.2",
    find: "    const execution = this.#drop(locator);\n    if (execution === undefined) return null;",
    replace: "    const execution = this.#kept.get(locator);\n    if (execution === undefined) return null;",
    why: "Two callers drive the same parked run in memory at the same time.",
  },
  {
    name: "a-view-with-a-status-of-its-own",
    breaks: "view.1",
    find: 'status: blocked === null ? summary.status : "blocked",',
    replace: 'status: blocked === null ? (end === null ? "running" : summary.status) : "blocked",',
    why: "A screen shows a parked run as running.",
    seenBy: { test: "packages/core/test/inspect/view.test.ts", because: "no view is made in a simulation" },
  },
  {
    name: "a-view-without-ancestors",
    breaks: "view.2",
    find: 'base: first?.kind === "run.forked" ? first.base : 0,',
    replace: "base: 0,",
    why: "A screen shows inherited work as work of the fork.",
    seenBy: { test: "packages/core/test/inspect/view.test.ts", because: "no view is made in a simulation" },
  },
  {
    name: "sums-without-struck-attempts",
    breaks: "view.3",
    find: "const work = [...struck, ...rows].filter",
    replace: "const work = [...rows].filter",
    why: "Money that was spent before a retry is missing from every sum.",
    seenBy: {
      test: "packages/core/test/inspect/view-struck.test.ts",
      because: "no view is made in a simulation",
    },
  },
  {
    name: "a-prompt-of-another-conversation",
    breaks: "asked.1",
    find: "const base = keep === 0 ? null : isOwner ? owner : undefined;",
    replace: "const base = keep === 0 ? null : [...owners.values()].at(-1);",
    why: "A prompt whose beginning is missing is completed by messages of another call.",
    seenBy: {
      test: "packages/core/test/inspect/prompt.test.ts",
      because: "no prompt is read in a simulation",
    },
  },
  {
    name: "a-replay-that-asks-for-nothing",
    breaks: "tools.1",
    find: "    seen = seenAt(replayEnd);\n",
    replace: "",
    why: "A replay does not look at what the code asked for, so changed code passes.",
    seenBy: { test: "packages/core/test/tools.test.ts", because: "no tool is used in a simulation" },
  },
  {
    name: "leased-before-the-release",
    breaks: "parked.4",
    find: "      await this.#left;\n",
    replace: "",
    why: "Code that continues by itself takes a lease, and the late release of the drive before ends it: another driver does the same work.",
    seenBy: {
      test: "packages/core/test/runs/lease-leak.test.ts",
      because: "in a simulation it takes about twenty thousand seeds",
    },
  },
  {
    name: "returned-by-a-former-user",
    breaks: "parked.2",
    find: "    if (this.#out.get(journal) !== user) return;\n",
    replace: "",
    why: "A caller that has driven a run gives the next caller's execution back, and a third one drives it as well.",
    seenBy: {
      test: "packages/core/test/runs/parked.test.ts",
      because: "in a simulation it takes about twenty thousand seeds",
    },
  },
  {
    name: "warm-life-missed-something",
    breaks: "parked.3",
    find: "if (!journal.deleted && isSame) return journal;",
    replace: "if (!journal.deleted) return journal;",
    why: "A run kept in memory continues although another driver has written.",
    seenBy: {
      test: "packages/core/test/runs/parked.test.ts",
      because: "the lease tells of other drivers as well",
    },
  },
];

const because = "nobody in a simulation plans a fork";

const plans: readonly PlantedBug[] = [
  {
    name: "plan-makes-the-fork",
    breaks: "plan.1",
    find: "await journal.imagine({ ...fact }, host.world.now());",
    replace: "await journal.append([writeFact({ ...fact }, host.world.now())]);",
    why: "A plan of a fork creates a run.",
    seenBy: { test: "packages/core/test/runs/fork-edit.test.ts", because },
  },
  {
    name: "plan-looks-at-the-parent",
    breaks: "plan.2",
    find: "new Set(fork.entries.filter(isSettlement)",
    replace: "new Set(parent.entries.filter(isSettlement)",
    why: "A plan reports every record of the parent as reused.",
    seenBy: { test: "packages/core/test/inspect/plan.test.ts", because },
  },
  {
    name: "plan-knows-the-past-alone",
    breaks: "plan.3",
    find: "if (!recorded.has(key)) calls.push(planned(key, kind));",
    replace: "void [key, kind];",
    why: "A plan leaves out the fork's first calls if the parent never made them.",
    seenBy: { test: "packages/core/test/runs/fork-edit.test.ts", because },
  },
  {
    name: "plan-sure-of-what-it-has-not-seen",
    breaks: "plan.4",
    find: "if (!end.finished) unsure = unasked(end);",
    replace: "if (end.finished) unsure = unasked(end);",
    why: "A plan promises a fork that new work then leads to a renamed step, which blocks it.",
    seenBy: { test: "packages/core/test/changed-code-table.test.ts", because },
  },
];

const losses = {
  test: "packages/simulator/test/lost-batches.test.ts",
  because:
    "the storage of the other simulations loses single batches in silence, and none that a process has seen",
};

const lost: readonly PlantedBug[] = [
  {
    name: "loss-not-recorded",
    breaks: "lost-batches.1",
    find: "if (before === undefined) return;\n    while",
    replace: "if (before === undefined || this.#known.delete(locator)) return;\n    while",
    why: "A run goes on after its storage lost batches, and nothing says so.",
    seenBy: losses,
  },
  {
    name: "loss-of-another-length",
    breaks: "lost-batches.1",
    find: "from: before.position, to: journal.position, steps",
    replace: "from: before.position, to: before.position - 1, steps",
    why: "The record of a loss says that one batch was lost, however many there were.",
    seenBy: losses,
  },
  {
    name: "lost-starts-not-seen",
    breaks: "lost-batches.2",
    find: 'if (entry.seq <= journal.seq || !("key" in entry)) continue;',
    replace: "if (entry.seq > 0) continue;",
    why: "A step whose recorded start was lost runs again without a question, though its effect may have happened.",
    seenBy: losses,
  },
];

export const plantedInRuns: readonly PlantedBug[] = [
  ...lost,
  ...streams,
  ...children,
  ...uncertain,
  ...values,
  ...direct,
  ...warm,
  ...plans,
];
