/** Random edits of sealed journals, by somebody who can write to the storage and has no key; and what readers then see. */

import { createApp, durable, DurableError, MemoryStorage, type Storage } from "@durable/core";
import type { ReadReply } from "@durable/core/storage";
import { aesGcm } from "@durable/core/encryption";
import { Chance } from "../../support/codec-values.ts";
import { secret } from "../../support/behaviour-lab.ts";

/** What came of the edits: each was refused, or no reader saw a difference. */
export interface Verdicts {
  refused: number;
  unseen: number;
  /** Batches were cut off at the end. Readers see an earlier state of the run. */
  earlier: number;
  /** Edits that changed what a reader sees: there must be none. */
  readonly accepted: string[];
}

type Stored = { batches: string[]; blobs: Record<string, string> };

const child = durable("child", (ctx, n: number) => ctx.step("s", () => n * 2));
const flow = durable("letters", async (ctx, n: number): Promise<unknown> => {
  const text = await ctx.step("draft", () => `draft ${n} `.repeat(600));
  const chunks = await ctx.stream("words", () => ["one", "two", `three ${n}`]);
  const doubled = await ctx.child(child, n);
  const [left, right] = await Promise.all([ctx.suspend("left"), ctx.suspend("right", { note: text })]);
  if (n < 2) return ctx.continueAs(n + 1);
  return [chunks, doubled, left, right, await ctx.suspend("send")];
});
const keys = {
  k1: new Uint8Array(32).map((_, i) => i * 7 + 1),
  k2: new Uint8Array(32).map((_, i) => i * 5 + 3),
};

/** Runs of one storage: parked in a second chapter, with early answers, a fork and children; sealed with two keys. */
async function recorded() {
  const storage = new MemoryStorage();
  const first = { storage, secret, encryption: aesGcm({ current: "k1", keys }) };
  const later = { storage, secret, encryption: aesGcm({ current: "k2", keys }) };
  const [one, two] = [first, later].map((host) => createApp({ ...host, workflows: [flow, child] })) as [
    ReturnType<typeof createApp>,
    ReturnType<typeof createApp>,
  ];
  const answered = async (id: string, key: string): Promise<void> => {
    const outcome = await two.get(id).outcome();
    const { token } = (outcome.status === "suspended" ? outcome.waiting : []).find(
      (wait) => wait.key === key,
    )!;
    await two.resume(token, `${key} of ${id}`);
  };
  for (const id of ["r", "s"]) {
    await (await one.start("letters", 1, { id })).result().catch(() => {});
    await answered(id, "left");
    await answered(id, "right");
    await answered(id, "left");
  }
  const fork = await two.get("r").fork({ from: "words", id: "f" });
  await fork.result().catch(() => {});
  const stored = new Map<string, Stored>();
  const { runs } = await storage.list();
  for (const { locator } of runs) {
    const { batches, blobs = {} } = await storage.read(locator);
    stored.set(locator, { batches: [...batches], blobs: { ...blobs } });
  }
  return { storage, host: later, stored, runs };
}

/** The storage as a reader finds it after the edits. */
function edited(storage: MemoryStorage, stored: ReadonlyMap<string, Stored>): Storage {
  return {
    append: (request) => storage.append(request),
    list: (query) => storage.list(query),
    lease: () => Promise.resolve(null),
    release: () => Promise.resolve(),
    delete: () => Promise.resolve(),
    read: (locator, from = 0): Promise<ReadReply> => {
      const { batches, blobs } = stored.get(locator) ?? { batches: [], blobs: {} };
      return Promise.resolve({ batches: batches.slice(from), length: batches.length, blobs });
    },
  };
}

type Edit = (chance: Chance, own: Stored, all: readonly Stored[]) => boolean;

const spliced = (text: string, at: number, remove: number, insert: string): string =>
  text.slice(0, at) + insert + text.slice(at + remove);
const at = (chance: Chance, list: readonly unknown[]): number => chance.below(list.length);

/** Changes one field of one entry; false when there is none to change. */
function changeEntry(chance: Chance, own: Stored, change: (entry: Record<string, unknown>) => void): boolean {
  const i = at(chance, own.batches);
  const batch = JSON.parse(own.batches[i]!) as { entries: Record<string, unknown>[] };
  change(chance.pick(batch.entries));
  own.batches[i] = JSON.stringify(batch);
  return true;
}

const forged = (own: Stored, entry: Record<string, unknown>, more: object = {}): boolean => {
  const batch = { v: 4, by: "forger.1", outside: true, entries: [{ at: 1, ...entry }], ...more };
  own.batches.push(JSON.stringify(batch));
  return true;
};

const edits: Readonly<Record<string, Edit>> = {
  "a character is changed": (chance, own) => {
    const i = at(chance, own.batches);
    const text = own.batches[i]!;
    own.batches[i] = spliced(text, chance.below(text.length), 1, String.fromCharCode(32 + chance.below(95)));
    return true;
  },
  "characters are removed or added": (chance, own) => {
    const i = at(chance, own.batches);
    const text = own.batches[i]!;
    const insert = chance.below(2) === 0 ? "" : text.slice(chance.below(text.length)).slice(0, 9);
    own.batches[i] = spliced(text, chance.below(text.length), chance.below(9), insert);
    return true;
  },
  "a batch is removed": (chance, own) => {
    own.batches.splice(chance.below(own.batches.length - 1), 1);
    return true;
  },
  "two batches change places": (chance, own) => {
    const [i, j] = [at(chance, own.batches), at(chance, own.batches)];
    [own.batches[i], own.batches[j]] = [own.batches[j]!, own.batches[i]!];
    return i !== j;
  },
  "a batch is repeated": (chance, own) => {
    own.batches.splice(at(chance, own.batches), 0, chance.pick(own.batches));
    return true;
  },
  "a batch comes from another run": (chance, own, all) => {
    const other = chance.pick(all);
    const i = at(chance, own.batches);
    own.batches[i] = other.batches[i] ?? chance.pick(other.batches);
    return other !== own;
  },
  "the whole journal comes from another run": (chance, own, all) => {
    const other = chance.pick(all);
    own.batches = [...other.batches];
    own.blobs = { ...own.blobs, ...other.blobs };
    return other !== own;
  },
  "a number is changed": (chance, own) =>
    changeEntry(chance, own, (entry) => {
      const field = chance.pick([
        "attempt",
        "from",
        "count",
        "at",
        "after",
        "answer",
        "base",
        "chapter",
        "until",
      ]);
      entry[field] = chance.below(5);
    }),
  "a name is changed": (chance, own) =>
    changeEntry(chance, own, (entry) => {
      const field = chance.pick(["key", "wait", "runId", "kind", "nonce", "workflow", "parent", "child"]);
      entry[field] = chance.pick(["left", "right", "r", "s", "suspend.closed", "letters", "draft"]);
    }),
  "a field moves to another entry": (chance, own) => {
    const all = own.batches.map((text) => JSON.parse(text) as { entries: Record<string, unknown>[] });
    const [from, to] = [chance.pick(chance.pick(all).entries), chance.pick(chance.pick(all).entries)];
    const field = chance.pick(Object.keys(from));
    to[field] = from[field];
    own.batches = all.map((batch) => JSON.stringify(batch));
    return from !== to;
  },
  "the writer is changed": (chance, own) => {
    const i = at(chance, own.batches);
    const batch = JSON.parse(own.batches[i]!) as Record<string, unknown>;
    const field = chance.pick(["v", "by", "outside", "after", "seal"]);
    const other = JSON.parse(chance.pick(own.batches)) as Record<string, unknown>;
    batch[field] =
      field === "v" ? chance.below(4) : field === "outside" ? batch[field] !== true : other[field];
    own.batches[i] = JSON.stringify(batch);
    return true;
  },
  "an approval is forged": (chance, own) => {
    const entries = own.batches.flatMap(
      (text) => (JSON.parse(text) as { entries: { wait?: string }[] }).entries,
    );
    const waits = entries.map(({ wait }) => wait).filter((wait) => wait !== undefined);
    const seq = chance.below(entries.length) + 1;
    const key = chance.pick(["left", "right", "send"]);
    return forged(own, { kind: "suspend.resolved", key, after: 0, wait: chance.pick(waits), answer: seq });
  },
  "an end is forged, with the seal of another batch": (chance, own) => {
    const { after, seal } = JSON.parse(chance.pick(own.batches)) as { after: string; seal: string };
    return forged(own, { kind: "run.cancelled", reason: null }, { after, seal });
  },
  "blobs change places": (chance, own) => {
    const names = Object.keys(own.blobs);
    if (names.length < 2) return false;
    const [a, b] = [chance.pick(names), chance.pick(names)];
    [own.blobs[a], own.blobs[b]] = [own.blobs[b]!, own.blobs[a]!];
    return a !== b;
  },
  "a blob is changed": (chance, own) => {
    const names = Object.keys(own.blobs);
    if (names.length === 0) return false;
    const name = chance.pick(names);
    const body = own.blobs[name]!;
    own.blobs[name] = chance.below(3) === 0 ? '"mine"' : spliced(body, chance.below(body.length), 1, "x");
    return true;
  },
  "the end is cut off": (chance, own) => {
    own.batches.length -= 1 + chance.below(own.batches.length - 1);
    return true;
  },
};

/** Makes so many edits, one at a time, and lets a reader with the keys look at every run after each. */
export async function hostileEdits(count: number, seed: number): Promise<Verdicts> {
  const { storage, host, stored, runs } = await recorded();
  const views = async (given: Storage, only: readonly string[]): Promise<string[]> => {
    const app = createApp({ ...host, storage: given, workflows: [flow, child] });
    return Promise.all(only.map(async (id) => JSON.stringify(await app.get(id).entries())));
  };
  const ids = runs.map(({ runId }) => runId);
  const calm = new Map((await views(edited(storage, stored), ids)).map((view, i) => [ids[i]!, view]));
  const chance = new Chance(seed);
  const verdicts: Verdicts = { refused: 0, unseen: 0, earlier: 0, accepted: [] };
  const names = Object.keys(edits);
  for (let made = 0; made < count;) {
    const head = chance.pick(runs);
    const copy = new Map(
      [...stored].map(([locator, { batches, blobs }]) => [
        locator,
        { batches: [...batches], blobs: { ...blobs } },
      ]),
    );
    const name = chance.pick(names);
    if (!edits[name]!(chance, copy.get(head.locator)!, [...copy.values()])) continue;
    made += 1;
    // A fork reads its parent as well.
    const seen = [head.runId, ...(head.runId === "r" ? ["f"] : [])];
    for (const id of seen) {
      try {
        const [view = ""] = await views(edited(storage, copy), [id]);
        if (view === calm.get(id)) verdicts.unseen += 1;
        else if (name === "the end is cut off" && calm.get(id)!.startsWith(view.slice(0, -1)))
          verdicts.earlier += 1;
        else if (name === "the end is cut off" && earlierChapter(view)) verdicts.earlier += 1;
        else verdicts.accepted.push(`${name} in ${head.runId}, read as ${id}`);
      } catch (error) {
        if (!DurableError.is(error)) throw error;
        verdicts.refused += 1;
      }
    }
  }
  return verdicts;
}

/** The cut went back behind the latest chapter. */
function earlierChapter(view: string): boolean {
  return view.startsWith('[{"kind":"run.started"') || view.includes('"kind":"run.started"');
}
