/** Bugs in journals in an object store. The simulations use another storage, so tests must catch them. */
import type { PlantedBug } from "./patch.ts";

const because = "the simulations use another storage";

function seenBy(test: string): { readonly test: string; readonly because: string } {
  return { test: `packages/core/test/adapters/remote/${test}.test.ts`, because };
}

const logs: readonly PlantedBug[] = [
  {
    name: "slot-written-over",
    breaks: "logs.1",
    find: "const created = await this.#bucket.create(slotKey(place), writeObject(record));",
    replace: "const created = await this.#bucket.put(slotKey(place), writeObject(record)).then(() => true);",
    why: "Two drivers write the same slot, and both get success.",
    seenBy: seenBy("fuzz"),
  },
  {
    name: "own-record-taken-for-a-stranger's",
    breaks: "logs.2",
    find: 'if (!created && (await this.#get(place))?.id !== record.id) return "taken";',
    replace: 'if (!created) return "taken";',
    why: "A write whose reply was lost is written again after itself, or refused as a conflict.",
    seenBy: seenBy("conformance"),
  },
  {
    name: "snapshot-believed",
    breaks: "logs.3",
    find: "        await this.#readOn(log);\n",
    replace: "",
    why: "A run is read as it was when its snapshot was made.",
    seenBy: seenBy("faults"),
  },
  {
    name: "sleeper-not-fenced",
    breaks: "logs.4",
    find: 'return this.#world.now() - log.aliveAt < believedMs ? "alive" : this.#lifeOf(log);',
    replace: 'return log.aliveAt >= 0 || believedMs > 0 ? "alive" : this.#lifeOf(log);',
    why: "A driver that was paused while its run was deleted writes into a deleted slot, and gets success.",
    seenBy: seenBy("deletion"),
  },
  {
    name: "fork-begins-unannounced",
    breaks: "family.1",
    find: "    if (position === 0) await this.#family.register(head, reader);\n",
    replace: "",
    why: "A parent is deleted permanently although a fork reads it.",
    seenBy: seenBy("deletion"),
  },
  {
    name: "closed-though-read",
    breaks: "family.2",
    find: "const closed = state.readers.length === 0;",
    replace: "const closed = state.readers.length >= 0;",
    why: "Deleting a run also deletes records that its forks read.",
    seenBy: seenBy("deletion"),
  },
  {
    name: "gone-not-said",
    breaks: "family.4",
    find: "    await this.#bucket.put(slotKey({ locator, generation, slot: 0 }), writeObject(gone));\n",
    replace: "",
    why: "The slots of a deleted run are removed, but its first slot does not mark it as deleted.",
    seenBy: seenBy("deletion"),
  },
];

/** Chapters in a bucket: blobs that pass from one to the next, and what is dropped. */
const chapters: readonly PlantedBug[] = [
  {
    name: "forgotten-chapters-forked",
    breaks: "family.3",
    find: "state.readers.includes(reader) || firstPosition(state) > from",
    replace: "state.readers.includes(reader)",
    why: "A fork begins although its parent has dropped batches that it reads.",
    seenBy: seenBy("conformance"),
  },
  {
    name: "stale-log-extended",
    breaks: "logs.5",
    find: '    if (first.slot > log.slot) return "stale";\n',
    replace: "",
    why: "A process whose slots were dropped while it was paused writes behind them, and gets success.",
    seenBy: seenBy("chapters"),
  },
  {
    name: "carried-blob-not-written",
    breaks: "blobs.1",
    find: "!begins && log?.blobs.has(name) === true",
    replace: "log?.blobs.has(name) === true",
    why: "The first batch of a chapter names a blob of the chapter before, and its content is not written again.",
    seenBy: seenBy("chapters"),
  },
  {
    name: "dropped-under-a-fork",
    breaks: "blobs.2",
    find: "(readsFrom[reader] ?? 0) < position",
    replace: "(readsFrom[reader] ?? 0) > position",
    why: "A run drops chapters with blobs that its forks name by their place.",
    seenBy: seenBy("chapters"),
  },
  {
    name: "blob-left-in-an-earlier-chapter",
    breaks: "remote-chapters.1",
    find: "    this.earlier = this.blobs;\n    this.blobs = new Map();\n",
    replace: "    this.earlier = this.blobs;\n",
    why: "A process counts the blobs of the chapter before as part of the next, and does not write their content again.",
    seenBy: seenBy("chapters"),
  },
  {
    name: "removed-before-recorded",
    breaks: "remote-chapters.2",
    find: "    await this.#completeLinks(log);\n    const isKnown",
    replace:
      "    await this.#completeLinks(log);\n    if (begin !== null) await this.clear({ locator, generation, state: droppedTo(known, { ...begin, position: before }, { slot: log.slot + 1, now: this.#now() }) } as RunLog);\n    const isKnown",
    why: "Batches are removed before the record that drops them is written, also if it is then refused.",
    seenBy: seenBy("chapters"),
  },
  {
    name: "removed-before-forwarded",
    breaks: "remote-chapters.3",
    find: "    await this.#link(log);\n    const key",
    replace: "    const key",
    also: [
      {
        find: "await this.#family.clear(between(older.slot, last.slot), last.at);\n",
        replace:
          "await this.#family.clear(between(older.slot, last.slot), last.at);\n    await this.#link(log);\n",
      },
    ],
    why: "A reader that begins at the first slot meets removed slots before it is sent on.",
    seenBy: seenBy("chapters"),
  },
  {
    name: "drop-hits-the-next-run",
    breaks: "remote-chapters.4",
    find: "!state.deleted && place.generation === generation && firstSlot(state) === firstSlot(known);",
    replace: "!state.deleted && firstSlot(state) === firstSlot(known);",
    why: "A slot that was found in the log of a deleted run is dropped to in the log of the next run of the id.",
    seenBy: seenBy("chapters"),
  },
  {
    name: "log-before-its-index",
    breaks: "remote-storage.1",
    find: "    made.push(...(await mark(this.#bucket, { locator, generation, slot }, state)));\n    const record = { slot, state, batch,",
    replace: "    const record = { slot, state, batch,",
    also: [
      {
        find: '    if (how === "landed") await this.#tidy(',
        replace:
          '    if (how === "landed") await mark(this.#bucket, { locator, generation, slot }, state);\n    if (how === "landed") await this.#tidy(',
      },
    ],
    why: "A process dies between a batch and its index objects, and no list shows the run.",
    seenBy: seenBy("faults"),
  },
  {
    name: "refused-by-an-old-log",
    breaks: "remote-storage.2",
    find: "if (refusal !== null && fresh) throw refusal;",
    replace: "if (refusal !== null) throw refusal;",
    why: "An append is refused because the cached log lacks the batches before it.",
    seenBy: seenBy("conformance"),
  },
  {
    name: "chapter-begins-without-a-snapshot",
    breaks: "remote-storage.3",
    find: "if (saved < begin || tail >=",
    replace: "if (tail >=",
    why: "A reader of the current chapter begins in an earlier one, and reads every slot from there on.",
    seenBy: seenBy("chapters"),
  },
  {
    name: "repeated-start-leaves-its-index-object",
    breaks: "remote-storage.4",
    find: "(found.log === null && !fresh && (await this.#logs.isBegun(locator)))",
    replace: "false",
    also: [
      {
        find: "await unmade(this.#plain, made.splice(0), found.log);",
        replace: "made.splice(0);",
      },
    ],
    why: "Every request that is repeated leaves an object that a sweep must read and delete.",
    seenBy: seenBy("repeated"),
  },
  {
    name: "held-for-longer-than-the-lease",
    breaks: "remote-storage.5",
    find: "held = said <= until && said - now >= half ? said : until;",
    replace: "held = said - now >= half ? said : until;",
    why: "A run whose driver gave it back is not looked at before its lease would have ended.",
    seenBy: seenBy("lists"),
  },
  {
    name: "outage-waited-for-again",
    breaks: "patience.1",
    find: "if (isDown || Math.max(waited, world.now() - begin) >= deadlineMs) {",
    replace: "if (Math.max(waited, world.now() - begin) >= deadlineMs) {",
    why: "A caller waits for the deadline of each request in a row, while the bucket is down.",
    seenBy: seenBy("pauses"),
  },
  {
    name: "pause-brought-back",
    breaks: "registers.2",
    find: "const value = pause === null ? others : [...others, pause];",
    replace: "const value = [...others, pause ?? { workflow, reason: null, since: 0 }];",
    why: "A workflow that an operator has unpaused stands still.",
    seenBy: seenBy("pauses"),
  },
];

export const plantedInBuckets: readonly PlantedBug[] = [...logs, ...chapters];
