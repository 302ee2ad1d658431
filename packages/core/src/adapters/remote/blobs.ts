/**
 * The blobs of a log: which ones a batch brings, and where their content is.
 *
 * blobs.1. A record has the content of the blobs that its batch is the first of its chapter to name, or the place in the
 *     log of an ancestor. A name that an earlier chapter had is written with its content again.
 * blobs.2. Ancestors keep what their readers read, so the place in an ancestor exists as long as the run does.
 */

import { DurableError } from "../../values/errors.ts";
import { readsFrom, refuseBlobs } from "../../ports/storage-kit.ts";
import type { AppendRequest, RunHead } from "../../ports/storage.ts";
import type { Chapters } from "./chapters.ts";
import type { Family } from "./family.ts";
import type { Logs } from "./logs.ts";
import { firstPosition, type BlobText, type KeptBlob } from "./record.ts";
import type { NamedText, RunLog } from "./run-log.ts";

export class Blobs {
  readonly #logs: Logs;
  readonly #family: Family;
  readonly #chapters: Chapters;

  constructor(logs: Logs, family: Family, chapters: Chapters) {
    this.#logs = logs;
    this.#family = family;
    this.#chapters = chapters;
  }

  /** The blobs that a batch is the first of its chapter to name; `null` when the log must be read again first. */
  async kept(log: RunLog | null, request: AppendRequest, fresh: boolean): Promise<KeptBlob[] | null> {
    const { head, position, blobs = [] } = request;
    const begins = position > 0 && head.chapter === position;
    const has = (name: string): boolean => !begins && log?.blobs.has(name) === true;
    const texts = new Map<string, BlobText>();
    const find = (name: string): BlobText | undefined => texts.get(name) ?? earlierText(log, name, begins);
    for (const { name, body } of blobs) if (body !== undefined) texts.set(name, body);
    const missing = (): string[] =>
      blobs.map(({ name }) => name).filter((name) => !has(name) && find(name) === undefined);
    const ancestors = await this.#ancestors(head, { position, fresh, asked: missing().length > 0 });
    for (const name of missing()) place(texts, name, { head, ancestors });
    if (fresh && missing().length > 0) await this.#search(missing(), texts, { log, head, ancestors });
    const refusal = refuseBlobs(head.runId, blobs, (name) => has(name) || find(name) !== undefined);
    if (refusal !== null && !fresh) return null;
    if (refusal !== null) throw refusal;
    const kept = new Map<string, KeptBlob>();
    for (const { name } of blobs) {
      const text = find(name);
      if (!has(name) && text !== undefined) kept.set(name, [name, text]);
    }
    return [...kept.values()];
  }

  /** The logs of the ancestors, if they matter: from the cache first, then from the bucket. */
  async #ancestors(
    head: RunHead,
    how: { readonly position: number; readonly fresh: boolean; readonly asked: boolean },
  ): Promise<RunLog[]> {
    const { position, fresh, asked } = how;
    if (fresh && (position === 0 || asked)) return this.#family.ancestors(head, position);
    return asked ? head.ancestors.flatMap((locator) => this.#logs.known(locator) ?? []) : [];
  }

  /** Searches earlier chapters, of the run and of its ancestors. Rare, because a chapter begins with what it needs. */
  async #search(
    names: readonly string[],
    texts: Map<string, BlobText>,
    { log, head, ancestors }: { log: RunLog | null; head: RunHead; ancestors: readonly RunLog[] },
  ): Promise<void> {
    const left = new Set(names);
    const search = async (searched: RunLog, from: number, own: boolean): Promise<void> => {
      if (left.size === 0 || searched.from <= Math.max(from, firstPosition(searched.state))) return;
      const history = await this.#chapters.before(searched, from);
      for (const [name, named] of history?.blobs ?? [])
        if (left.delete(name)) texts.set(name, own ? named.text : placeIn(searched.locator, named));
    };
    if (log !== null) await search(log, 0, true);
    for (const ancestor of ancestors) await search(ancestor, readsFrom(head, ancestor.locator), false);
  }

  /** The content of a blob, from the log that has it. */
  async body(locator: string, name: string, text: BlobText): Promise<string> {
    if (typeof text === "string") return text;
    const found = await this.#inAncestor(name, text.in, text.at);
    if (found !== undefined) return this.body(text.in, name, found);
    throw new DurableError(
      "corrupt",
      `Blob ${name} of the journal ${locator} is missing. Restore the bucket from a backup.`,
    );
  }

  async #inAncestor(name: string, ancestor: string, at: number | undefined): Promise<BlobText | undefined> {
    const named = this.#logs.known(ancestor)?.blobs.get(name);
    if (named !== undefined) return named.text;
    // The ancestor may have stored the blob after this process last read its log, or have begun another chapter.
    const { log } = await this.#logs.load(ancestor);
    const current = log?.blobs.get(name);
    if (log === null || current !== undefined) return current?.text;
    if (at !== undefined) {
      const record = await this.#logs.record({ locator: ancestor, generation: log.generation, slot: at });
      return record?.blobs?.find(([other]) => other === name)?.[1];
    }
    const history = await this.#chapters.before(log, 0);
    return history?.blobs.find(([other]) => other === name)?.[1].text;
  }
}

/** The content of a blob that an earlier chapter named; the present one counts as earlier when another begins. */
function earlierText(log: RunLog | null, name: string, begins: boolean): BlobText | undefined {
  if (log === null) return undefined;
  const named = (begins ? log.blobs.get(name) : undefined) ?? log.earlier.get(name);
  return named !== undefined && named.position >= firstPosition(log.state) ? named.text : undefined;
}

/** Notes the place of a blob in the first ancestor whose current chapter has it, among the batches that the run reads. */
function place(
  texts: Map<string, BlobText>,
  name: string,
  { head, ancestors }: { readonly head: RunHead; readonly ancestors: readonly RunLog[] },
): void {
  for (const { locator, blobs } of ancestors) {
    const named = blobs.get(name);
    if (named === undefined || named.position < readsFrom(head, locator)) continue;
    texts.set(name, placeIn(locator, named));
    return;
  }
}

function placeIn(locator: string, { slot }: NamedText): BlobText {
  return slot === undefined ? { in: locator } : { in: locator, at: slot };
}
