/**
 * What the runs of this process do now, for people: one text per process in the storage, never in a journal.
 *
 * under-way.1. It only shows. Nothing waits for it or decides by it, and a write that fails is repeated later.
 * under-way.2. Work that is over within a second is not written, and nothing is written more often than once a second.
 * under-way.3. With encryption, the text is sealed, and no other is shown. A damaged text hides no other.
 */

import type { Cipher } from "../ports/cipher.ts";
import type { StorageLimits } from "../ports/storage.ts";
import type { World } from "../ports/world.ts";
import { scrub } from "../values/scrub.ts";
import { hasFields, parsed } from "../values/shown.ts";
import { openText, sealText } from "./sealed-text.ts";

/** A step or stream that is being worked on. */
export interface Doing {
  readonly runId: string;
  readonly kind: "step" | "stream";
  readonly key: string;
  readonly attempt: number;
  /** When the attempt began, in milliseconds since the epoch. */
  readonly since: number;
  /** The last words of a stream. */
  readonly words?: string;
  /** The name of the worker whose process does it; missing without one. */
  readonly worker?: string;
}

interface Work extends Doing {
  /** The last words so far. */
  readonly said: () => string;
}

/** Where the host keeps texts, and how they are sealed. */
export interface Keeping {
  readonly limits: StorageLimits | undefined;
  readonly cipher: Cipher | null;
}

const prefix = "doing ";
const everyMs = 1_000;
/** A process that is silent for this long is gone. Work that goes on is written again before. */
const keptMs = 60_000;
const againMs = 20_000;
/** The longest list that a process writes: the works that began first. */
const most = 200;

export class UnderWay {
  readonly #world: World;
  readonly #keeping: () => Promise<Keeping>;
  readonly #name: string;
  readonly #works = new Set<Work>();
  /** The name of the worker of this process that began last, while it is there. */
  worker: string | undefined;
  #cancel: (() => void) | null = null;
  #writing = false;
  /** What was written last, and when. */
  #text = "";
  #at = -Infinity;

  constructor(world: World, keeping: () => Promise<Keeping>) {
    this.#world = world;
    this.#keeping = keeping;
    this.#name = prefix + world.id();
  }

  /** Work begins; the returned function ends it. */
  begin(doing: Doing, said: () => string): () => void {
    const work = { ...doing, said };
    this.#works.add(work);
    this.#cancel ??= this.#world.timer(everyMs, () => this.#check());
    return () => void this.#works.delete(work);
  }

  /** The last drive is over. A timer must not keep the process alive for work that no run waits for. */
  rest(): void {
    this.#works.clear();
    this.#cancel?.();
    this.#cancel = null;
    if (this.#text !== "") void this.#write("", this.#world.now());
  }

  #check(): void {
    this.#cancel = null;
    const now = this.#world.now();
    const long = [...this.#works].filter(({ since }) => now - since >= everyMs).slice(0, most);
    const text =
      long.length === 0 ? "" : JSON.stringify(long.map((work) => ({ ...shown(work), worker: this.worker })));
    if (!this.#writing && (text !== this.#text || (text !== "" && now - this.#at >= againMs)))
      void this.#write(text, now);
    if (this.#works.size > 0 || this.#text !== "")
      this.#cancel = this.#world.timer(everyMs, () => this.#check());
  }

  async #write(text: string, now: number): Promise<void> {
    this.#writing = true;
    try {
      const { limits, cipher } = await this.#keeping();
      const sealed = text === "" ? "" : await sealText(cipher, this.#name, text);
      await limits?.put?.(this.#name, sealed, keptMs);
      [this.#text, this.#at] = [text, now];
    } catch {
      // The next check tries again.
    } finally {
      this.#writing = false;
    }
  }
}

/** What all processes on a storage do now, by run; those that began first come first. */
export async function underWayIn({
  limits,
  cipher,
}: Keeping): Promise<ReadonlyMap<string, readonly Doing[]>> {
  const texts = limits?.put === undefined ? [] : await limits.texts(prefix);
  const found = await Promise.all(
    texts.map(async ({ name, value }): Promise<Doing[]> => {
      // Without the key it is not shown.
      const doings = parsed(await openText(cipher, name, value).catch(() => ""));
      return Array.isArray(doings) ? doings.filter(isDoing) : [];
    }),
  );
  return Map.groupBy(
    found.flat().toSorted((a, b) => a.since - b.since),
    ({ runId }) => runId,
  );
}

function isDoing(value: unknown): value is Doing {
  const { kind, words = "", worker = "" } = Object(value) as Partial<Doing>;
  const fields = { runId: "string", key: "string", attempt: "number", since: "number" };
  const areTexts = typeof words === "string" && typeof worker === "string";
  return (kind === "step" || kind === "stream") && areTexts && hasFields(value, fields);
}

function shown({ said, ...doing }: Work): Doing {
  const words = scrub(said());
  return words === "" ? doing : { ...doing, words };
}
