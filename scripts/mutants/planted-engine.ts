/** Bugs in the drive of one run: the loop, replay, what is written when, and the calls a workflow makes. */
import type { PlantedBug } from "./patch.ts";

const loop: readonly PlantedBug[] = [
  {
    name: "settles-from-work",
    breaks: "N1",
    file: "engine/attempts.ts",
    find: "      this.engine.write(info.used === undefined ? fact : { ...fact, ...info.used });",
    replace:
      '      this.engine.write(fact);\n      if (fact.kind === "step.completed") this.outcome.resolve(decode(fact.value, this.where) as never);',
    why: "A step's promise settles when its work ends, before the entry is durable.",
  },
  {
    name: "microtasks-not-drained",
    breaks: "N2",
    file: "engine/engine.ts",
    find: "await (rounds % roundsPerTurn === 0 ? this.world.turn() : this.world.drain());",
    replace: "await (rounds % roundsPerTurn === 0 ? this.world.turn() : Promise.resolve());",
    why: "The next settlement is delivered while code that follows from the previous one is still running.",
  },
  {
    name: "work-starts-at-the-call",
    breaks: "N3",
    file: "engine/engine.ts",
    find: "    this.#fresh.push(call);\n",
    replace: "    if (this.replay.fact(call.key)?.settled !== true) queueMicrotask(() => call.begin());\n",
    why: "Work starts before recorded settlements that may close it are delivered.",
  },
  {
    name: "suspension-throws",
    breaks: "law 6",
    file: "engine/timers.ts",
    find: "    this.#alarm?.cancel();\n    this.#alarm = null;\n  }\n\n  #changed",
    replace:
      '    this.#alarm?.cancel();\n    this.#alarm = null;\n    if (this.#earliest === null) for (const call of this.#waits.keys()) call.outcome.reject(new Error("suspended"));\n  }\n\n  #changed',
    why: "When a driver stops, it rejects the pending calls, and a `catch` in the workflow sees it.",
  },
  {
    name: "parks-with-work-under-way",
    breaks: "N4",
    file: "engine/engine.ts",
    find: "if (this.busy.idle && !this.#outbox.inFlight) return this.#rest();",
    replace: "if (!this.#outbox.inFlight) return this.#rest();",
    why: "The loop parks the run while work is still running.",
  },
  {
    name: "blocked-run-writes",
    breaks: "N5",
    file: "engine/engine.ts",
    find: "    this.#outbox.keepAttempts();\n",
    replace: "",
    also: [
      {
        file: "engine/engine.ts",
        find: "if (this.#stop !== null || (this.#blocked !== null && !isAttempt(fact))) return;",
        replace: "if (this.#stop !== null) return;",
      },
    ],
    why: "The queued entries of a blocked run are written to its journal.",
    seenBy: {
      test: "packages/core/test/blocked.test.ts",
      because:
        "one branch must diverge while the wait of another is queued behind an append, which needs foreign awaits",
    },
  },
];

const replay: readonly PlantedBug[] = [
  {
    name: "held-out-of-order",
    breaks: "R1",
    file: "engine/replay.ts",
    find: "this.#ready.splice(later === -1 ? this.#ready.length : later, 0, held);",
    replace: "this.#ready.splice(later === -1 ? 0 : this.#ready.length, 0, held);",
    why: "Among settlements that waited for their calls, the highest position is delivered first.",
    seenBy: {
      test: "packages/core/test/journal.test.ts",
      because:
        "changed code must request several recorded results in one turn, after one that it did not request",
    },
  },
  {
    name: "latest-first",
    breaks: "R1",
    file: "engine/replay.ts",
    find: "this.#queue.push(entry);",
    replace: "this.#queue.splice(this.#cursor, 0, entry);",
    why: "Among undelivered settlements, the highest position is delivered first.",
  },
  {
    name: "settled-key-begins-again",
    breaks: "R2",
    file: "engine/replay.ts",
    find: "      fact.settled = true;\n",
    replace: "",
    why: "A settled key is not recognized as settled, and its work runs again.",
  },
  {
    name: "second-settlement-counts",
    breaks: "R2",
    file: "engine/replay.ts",
    find: "if (isSettlement(entry) && !fact.settled) {",
    replace: "if (isSettlement(entry)) {",
    why: "A key that settles again is delivered again.",
    redundant:
      "No journal has two settlements of a key: an answered wait accepts no second answer, a timeout that lost is dropped, and the compare-and-swap refuses writers that did not know.",
  },
  {
    name: "early-answer-dropped",
    breaks: "R3",
    file: "engine/replay.ts",
    find: "if (settlement !== undefined) this.#held.set(settlement.key, settlement);",
    replace: "",
    why: "A settlement that comes before its call is dropped.",
  },
];

const outbox: readonly PlantedBug[] = [
  {
    name: "settled-meanwhile-dropped",
    breaks: "O1",
    file: "engine/outbox.ts",
    find: 'if (appended.kind === "absorbed") this.#queue.unshift(...facts);',
    replace: 'if (appended.kind === "absorbed") this.#queue.unshift(...facts);\n    else this.#queue = [];',
    why: "Outcomes that settle while an append is in flight are dropped instead of written with the next append.",
  },
  {
    name: "flushes-side-by-side",
    breaks: "O1",
    file: "engine/outbox.ts",
    find: "    if (this.#inFlight) return;\n",
    replace: "",
    why: "A second append begins while one is in flight.",
  },
  {
    name: "riders-go-last",
    breaks: "O2",
    file: "engine/outbox.ts",
    find: "const facts = [...this.#riders, ...this.#take()];",
    replace: "const facts = [...this.#take(), ...this.#riders];",
    why: "The opening entry of a group comes after the entries of its branches.",
  },
  {
    name: "riders-dropped-by-a-conflict",
    breaks: "O2",
    file: "engine/outbox.ts",
    find: 'if (appended.kind === "absorbed") this.#queue.unshift(...facts);',
    replace:
      'if (appended.kind === "absorbed") this.#queue.unshift(...facts.filter(({ fact }) => !/parallel|race/.test(fact.kind)));',
    why: "The opening entry of a group is never written if its batch met a conflict.",
  },
  {
    name: "timers-overtake-verdicts",
    breaks: "O3",
    file: "engine/outbox.ts",
    find: "this.#busy.judging",
    replace: "false",
    why: "A timer is written before the check of an earlier answer is recorded.",
  },
  {
    name: "lost-time-out-written",
    breaks: "O3",
    file: "engine/outbox.ts",
    find: 'return fact.kind === "suspend.expired" ? state.wait(fact.wait) : {};',
    replace: "return {};",
    why: "A timeout that lost against an answer is still written after it.",
  },
  {
    name: "park-outlives-a-conflict",
    breaks: "O4",
    file: "engine/outbox.ts",
    find: 'if (appended.kind === "absorbed") this.#queue.unshift(...facts);',
    replace: 'if (appended.kind === "absorbed") this.#queue.unshift(...batch);',
    why: "A park or an end that met an answer is still written after it.",
  },
];

const hold: readonly PlantedBug[] = [
  {
    name: "lease-decides",
    breaks: "H1",
    file: "storage/memory.ts",
    find: "if (gone || (kept?.batches.length ?? 0) !== position)",
    replace:
      "if (gone || ((kept?.batches.length ?? 0) !== position && (kept?.lease?.owner === undefined || kept.lease.owner !== lease?.owner)))",
    why: "A driver with the lease may append at any position.",
  },
  {
    name: "works-without-lease",
    breaks: "H2",
    file: "engine/engine.ts",
    find: "if (!hold.valid) return void (await hold.renew());",
    replace: "",
    why: "Work starts under an expired lease.",
  },
  {
    name: "never-looks",
    breaks: "H3",
    file: "engine/hold.ts",
    find: "if (driving === null || this.#watching) return;",
    replace: "if (driving === null || !this.#watching) return;",
    why: "A live driver never reads entries from outside.",
    seenBy: {
      test: "packages/core/test/cancel.test.ts",
      because: "nothing fails, it only takes longer: the next append meets the new entries",
    },
  },
];

export const plantedInTheLoop: readonly PlantedBug[] = [...loop, ...replay, ...outbox, ...hold];
