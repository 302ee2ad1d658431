/** Bugs in the drive of one run: the loop, replay, what is written when, and the calls a workflow makes. */
import type { PlantedBug } from "./patch.ts";

const loop: readonly PlantedBug[] = [
  {
    name: "settles-from-work",
    breaks: "engine.1",
    find: "const output = await this.parts.work(info);",
    replace:
      "const output = await this.parts.work(info);\n    this.outcome.resolve(decode(encode(output, this.where), this.where));",
    why: "A step's promise settles when its work ends, before the entry is durable.",
  },
  {
    name: "a-drive-goes-back",
    breaks: "phase.1",
    find: 'phase.kind !== "parked" && order.indexOf(next.kind) > order.indexOf(phase.kind) ? next : phase',
    replace: 'phase.kind !== "parked" ? next : phase',
    why: "A run that is blocked and then asked to leave goes on as if it were not blocked.",
    seenBy: {
      test: "packages/core/test/engine/phase.test.ts",
      because: "a request to leave must come between two turns of a blocked run",
    },
  },
  {
    name: "blocked-while-parked-forgotten",
    breaks: "phase.2",
    find: 'return { kind: "parked", error: phase.error ?? next.error };',
    replace: "return phase;",
    why: "An error that nothing caught while the run was parked is lost.",
    seenBy: {
      test: "packages/core/test/engine/phase.test.ts",
      because: "generated code catches its errors",
    },
  },
  {
    name: "microtasks-not-drained",
    breaks: "engine.2",
    find: 'else if (this.#code !== "still") await this.world.drain();',
    replace: 'else if (this.#code !== "still") await Promise.resolve();',
    why: "The next settlement is delivered while code that follows from the previous one is still running.",
  },
  {
    name: "work-starts-at-the-call",
    breaks: "engine.3",
    find: "    this.#fresh.list.push(call);\n",
    replace: "    if (this.replay.record(call.key)?.settled !== true) queueMicrotask(() => call.begin());\n",
    why: "Work starts before recorded settlements that may close it are delivered.",
  },
  {
    name: "suspension-throws",
    breaks: "law 6",
    find: "    this.#alarm?.cancel();\n    this.#alarm = null;\n  }\n\n  /** The earliest",
    replace:
      '    this.#alarm?.cancel();\n    this.#alarm = null;\n    if (this.#earliest === null) for (const call of this.#waits.keys()) call.outcome.reject(new Error("suspended"));\n  }\n\n  /** The earliest',
    why: "When a driver stops, it rejects the pending calls, and a `catch` in the workflow sees it.",
  },
  {
    name: "parks-with-work-under-way",
    breaks: "engine.4",
    find: "if (this.#idleWork && !this.#outbox.appending) return this.#rest();",
    replace: "if (!this.#outbox.appending) return this.#rest();",
    why: "The loop parks the run while work is still running.",
  },
  {
    name: "abandoned-at-once",
    breaks: "engine.5",
    find: "this.#cancelLinger ??= this.#run.world.timer(this.#run.options.lingerMs, () => {",
    replace: "this.#cancelLinger ??= this.#run.world.timer(0, () => {",
    why: "Work that still runs when the workflow function settles is abandoned without the time that it is given.",
    seenBy: {
      test: "packages/core/test/engine/linger.test.ts",
      because:
        "whether work that nothing awaits is recorded or abandoned is a matter of time, and both are allowed",
    },
  },
  {
    name: "end-waits-for-abandoned-work",
    breaks: "engine.5",
    find: "this.#cancelLinger ??= this.#run.world.timer(this.#run.options.lingerMs, () => {",
    replace: "this.#cancelLinger ??= this.#run.world.timer(this.#run.options.lingerMs * 1_000, () => {",
    why: "The end of a run waits much longer for work that its workflow no longer waits for.",
    seenBy: {
      test: "packages/core/test/engine/linger.test.ts",
      because: "nothing goes wrong, the run only ends later",
    },
  },
  {
    name: "end-abandons-a-cancel",
    breaks: "ending.2",
    find: "this.abandoned && abandonable && this.undo === null",
    replace: "this.abandoned && this.undo === null",
    why: "A run ends while the cancel of a child is still under way, and nothing tries it again.",
    seenBy: {
      test: "packages/core/test/engine/linger.test.ts",
      because: "a cancel seldom takes so long that the run ends first",
    },
  },
  {
    name: "blocked-run-writes",
    breaks: "engine.6",
    find: 'if (stop.kind === "blocked" || this.ending.frozen) this.#outbox.keepPaid();',
    replace: "if (this.ending.frozen) this.#outbox.keepPaid();",
    also: [
      {
        find: "if (stopOf(this.#phase) !== null || (this.#isBlocked && !traitsOf(fact).paid)) return false;",
        replace: "if (stopOf(this.#phase) !== null) return false;",
      },
    ],
    why: "The queued entries of a blocked run are written to its journal.",
    seenBy: {
      test: "packages/core/test/engine/blocked.test.ts",
      because:
        "a strand must diverge while another one's wait is queued behind an append, which takes waits outside of ctx",
    },
  },
];

const replay: readonly PlantedBug[] = [
  {
    name: "held-out-of-order",
    breaks: "replay.1",
    find: "this.#ready.push(held.seq, held);",
    replace: "this.#ready.push(-held.seq, held);",
    why: "Among settlements that waited for their calls, the highest position is delivered first.",
    seenBy: {
      test: "packages/core/test/journal/journal.test.ts",
      because:
        "changed code must ask for several recorded results in one turn, behind one that it did not ask for",
    },
  },
  {
    name: "latest-first",
    breaks: "replay.1",
    find: "this.#queue.push(entry);",
    replace: "this.#queue.splice(this.#cursor, 0, entry);",
    why: "Among undelivered settlements, the highest position is delivered first.",
  },
  {
    name: "settled-key-begins-again",
    breaks: "replay.2",
    find: "      record.settled = true;\n",
    replace: "",
    why: "A settled key is not recognized as settled, and its work runs again.",
  },
  {
    name: "second-settlement-counts",
    breaks: "replay.2",
    find: "if (isSettlement(entry) && !record.settled) {",
    replace: "if (isSettlement(entry)) {",
    why: "A key that settles again is delivered again.",
    redundant:
      "No journal holds two settlements of a key: a wait that is answered takes no second answer, a time-out that lost is dropped, and the compare-and-swap keeps out whoever did not know.",
  },
  {
    name: "early-answer-dropped",
    breaks: "replay.3",
    find: "if (settlement !== undefined) this.#held.set(settlement.key, settlement);",
    replace: "",
    why: "A settlement that comes before its call is dropped.",
  },
];

const outbox: readonly PlantedBug[] = [
  {
    name: "settled-meanwhile-dropped",
    breaks: "outbox.1",
    find: 'if (appended.kind === "absorbed") this.#queue.unshift(...facts);',
    replace: 'if (appended.kind === "absorbed") this.#queue.unshift(...facts);\n    else this.#queue = [];',
    why: "Outcomes that settle while an append is in flight are dropped instead of written with the next append.",
  },
  {
    name: "flushes-side-by-side",
    breaks: "outbox.1",
    find: "    if (this.#appending) return;\n",
    replace: "",
    why: "A second append begins while one is in flight.",
  },
  {
    name: "riders-go-last",
    breaks: "outbox.2",
    find: "const ready = [...this.#withNext, ...this.#ready()];",
    replace: "const ready = [...this.#ready(), ...this.#withNext];",
    why: "The opening entry of a group comes after the entries of its branches.",
  },
  {
    name: "riders-dropped-by-a-conflict",
    breaks: "outbox.2",
    find: 'if (appended.kind === "absorbed") this.#queue.unshift(...facts);',
    replace:
      'if (appended.kind === "absorbed") this.#queue.unshift(...facts.filter(({ fact }) => !/parallel|race/.test(fact.kind)));',
    why: "The opening entry of a group is never written if its batch met a conflict.",
  },
  {
    name: "timers-overtake-verdicts",
    breaks: "outbox.3",
    find: "!(pending && settles && !isVerdict(fact))",
    replace: "true",
    why: "A timer is written before the check of an earlier answer is recorded.",
  },
  {
    name: "lost-time-out-written",
    breaks: "outbox.3",
    find: 'return fact.kind === "suspend.expired" ? state.wait(fact.wait) : {};',
    replace: "return {};",
    why: "A timeout that lost against an answer is still written after it.",
  },
  {
    name: "park-outlives-a-conflict",
    breaks: "outbox.4",
    find: 'if (appended.kind === "absorbed") this.#queue.unshift(...facts);',
    replace: 'if (appended.kind === "absorbed") this.#queue.unshift(...batch);',
    why: "A park or an end that met an answer is still written after it.",
  },
];

const verdicts: readonly PlantedBug[] = [
  {
    name: "quick-checks-overtake",
    breaks: "verdicts.1",
    find: "if (verdict?.write === null) return;",
    replace: `if (verdict?.write === null) {
        const [known, quick] = [...this.#open].find(([, { write }]) => write !== null) ?? [];
        if (known === undefined) return;
        this.drop(known);
        quick?.write?.();
        continue;
      }`,
    why: "Of two answers, the one whose check ends first gets its verdict first.",
    seenBy: {
      test: "packages/core/test/engine/answers-order.test.ts",
      because: "two answers must come before one drive, and the check of the first must take longer",
    },
  },
  {
    name: "one-check-holds-nothing-back",
    breaks: "verdicts.2",
    find: "return this.#open.size > 0;",
    replace: "return this.#open.size > 1;",
    why: "A result or a timer is written while an answer that was recorded before it is checked.",
  },
];

const hold: readonly PlantedBug[] = [
  {
    name: "lease-decides",
    breaks: "lease.1",
    find: "if (gone || (kept === undefined ? 0 : lengthOf(kept)) !== position)",
    replace:
      "if (gone || ((kept === undefined ? 0 : lengthOf(kept)) !== position && (kept?.lease?.owner === undefined || kept.lease.owner !== lease?.owner)))",
    also: [
      {
        find: "{ position, blobs = [], head, revives } = request",
        replace: "{ position, blobs = [], head, revives, lease } = request",
      },
    ],
    why: "A driver with the lease may append at any position.",
  },
  {
    name: "works-without-lease",
    breaks: "lease.2",
    find: "if (!lease.valid) return void (await lease.renew());",
    replace: "",
    why: "Work starts under an expired lease.",
  },
  {
    name: "never-looks",
    breaks: "lease.3",
    find: "if (driving === null || this.#watching) return;",
    replace: "if (driving === null || !this.#watching) return;",
    why: "A live driver never reads entries from outside.",
    seenBy: {
      test: "packages/core/test/runs/cancel.test.ts",
      because: "nothing goes wrong, it only takes longer: the next append meets what came",
    },
  },
  {
    name: "renews-by-the-clock",
    breaks: "lease.4",
    find: "const isOld = !isFirst && !this.#isFresh;",
    replace: "const isOld = false;",
    why: "After its clock was set back by an hour, a driver renews nothing for an hour, and others take its runs.",
  },
  {
    name: "renews-too-late",
    breaks: "lease.4",
    find: "this.#pulse(this.#ttlMs / 3);",
    replace: "this.#pulse(this.#ttlMs);",
    why: "A lease has ended when its renewal arrives, so that a second driver can take a run that is worked on.",
  },
  {
    name: "keeps-the-name-of-a-lease",
    breaks: "lease.5",
    find: "      this.#journal.leases += 1;\n",
    replace: "",
    why: "A request that gave a lease back, and is done late, ends the lease that its driver has taken since.",
    seenBy: {
      test: "packages/core/test/engine/lease-late.test.ts",
      because: "one history in some thousands sends such a request again just then",
    },
  },
];

export const plantedInTheLoop: readonly PlantedBug[] = [...loop, ...replay, ...outbox, ...verdicts, ...hold];
