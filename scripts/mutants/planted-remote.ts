/** Bugs in journals in an object store. The simulations use another storage, so tests must catch them. */
import type { PlantedBug } from "./patch.ts";

const because = "the simulations use another storage";

function seenBy(test: string): { readonly test: string; readonly because: string } {
  return { test: `packages/core/test/adapters/remote/${test}.test.ts`, because };
}

export const plantedInBuckets: readonly PlantedBug[] = [
  {
    name: "slot-written-over",
    breaks: "logs.1",
    file: "adapters/remote/logs.ts",
    find: "const created = await this.#bucket.create(slotKey(place), writeObject(record));",
    replace: "const created = await this.#bucket.put(slotKey(place), writeObject(record)).then(() => true);",
    why: "Two drivers write the same slot, and both get success.",
    seenBy: seenBy("fuzz"),
  },
  {
    name: "own-record-taken-for-a-stranger's",
    breaks: "logs.2",
    file: "adapters/remote/logs.ts",
    find: 'if (!created && (await this.#get(place))?.id !== record.id) return "taken";',
    replace: 'if (!created) return "taken";',
    why: "A write whose reply was lost is written again after itself, or refused as a conflict.",
    seenBy: seenBy("conformance"),
  },
  {
    name: "snapshot-believed",
    breaks: "logs.3",
    file: "adapters/remote/logs.ts",
    find: "        await this.#readOn(log);\n",
    replace: "",
    why: "A run is read as it was when its snapshot was made.",
    seenBy: seenBy("faults"),
  },
  {
    name: "sleeper-not-fenced",
    breaks: "logs.4",
    file: "adapters/remote/logs.ts",
    find: 'return this.#world.now() - log.aliveAt < believedMs ? "alive" : this.#lifeOf(log);',
    replace: 'return log.aliveAt >= 0 || believedMs > 0 ? "alive" : this.#lifeOf(log);',
    why: "A driver that was paused while its run was deleted writes into a deleted slot, and gets success.",
    seenBy: seenBy("deletion"),
  },
  {
    name: "fork-begins-unannounced",
    breaks: "family.1",
    file: "adapters/remote/storage.ts",
    find: "    if (position === 0) await this.#family.register(head, reader);\n",
    replace: "",
    why: "A parent is deleted permanently although a fork reads it.",
    seenBy: seenBy("deletion"),
  },
  {
    name: "closed-though-read",
    breaks: "family.2",
    file: "adapters/remote/record.ts",
    find: "const closed = state.readers.length === 0;",
    replace: "const closed = state.readers.length >= 0;",
    why: "Deleting a run also deletes records that its forks read.",
    seenBy: seenBy("deletion"),
  },
  {
    name: "gone-not-said",
    breaks: "family.3",
    file: "adapters/remote/family.ts",
    find: "    await this.#bucket.put(slotKey({ locator, generation, slot: 0 }), writeObject(gone));\n",
    replace: "",
    why: "The slots of a deleted run are removed, but its first slot does not mark it as deleted.",
    seenBy: seenBy("deletion"),
  },
];
