/**
 * Converts facts to their form in a batch: large values are cut into blobs, and with a cipher every value is encrypted.
 * In memory, values are always whole and unencrypted.
 *
 * envelope.1. An encrypted value is bound to its run, position, key and field; it cannot be decrypted anywhere else.
 * envelope.2. Fails closed: with a cipher no value is written unencrypted, and unencrypted values are refused. The message of
 *     a blocked run may have values, so its note is encrypted, too; it is for people, and is shown as missing without a key.
 * envelope.3. A blob is sent once per run, with the first batch that names it.
 * envelope.4. A blob whose content does not match its name counts as missing. Both are reported when a value needs the blob.
 */

import { valueFields } from "./kinds.ts";
import { corrupt, type ReadBatch, writeText, type WrittenFact } from "./batch.ts";
import type { Chain, Cipher, Place, Spot } from "../ports/cipher.ts";
import { inlineLength, mayBePacked, pack, unpack } from "./pack.ts";
import type { Json } from "../values/codec/tags.ts";
import type { Edit, Fact } from "./entry.ts";
import { DurableError, describeError } from "../values/errors.ts";
import { digest, joinParts } from "../values/hash.ts";
import type { BlockedNote, NamedBlob } from "../ports/storage.ts";
import { limits } from "../values/limits.ts";

/** The largest text of a value whose blobs were put back: the largest value, all of it bytes in base64. */
const mostUnpacked = limits.valueBytes * 2;

/** A value, and the size of its text. */
interface Unpacked {
  readonly value: Json;
  readonly size: number;
}

export interface Wrapped {
  readonly texts: readonly string[];
  /** The unencrypted content of the blobs, by name. */
  readonly contents: ReadonlyMap<string, string>;
  readonly blobs: readonly NamedBlob[];
}

export class Envelope {
  readonly #cipher: Cipher | null;
  /** Blobs by name: their texts, and their parsed values after the first use. */
  readonly #texts = new Map<string, string>();
  readonly #values = new Map<string, Unpacked>();
  /** Computed names, by text: of a value that grows, most parts were named before. */
  readonly #names = new Map<string, string>();
  /** Names in batches of this run. */
  readonly #named = new Set<string>();

  constructor(cipher: Cipher | null) {
    this.#cipher = cipher;
  }

  /** The stored form of small facts without encryption, which is their text; `null` for others. */
  wrapPlain(facts: readonly WrittenFact[]): Wrapped | null {
    if (this.#cipher !== null || facts.some(({ text }) => text.length > inlineLength)) return null;
    return { texts: facts.map(({ text }) => text), blobs: [], contents: none };
  }

  /** The stored form of facts, and the blobs that must be sent with them. */
  async wrap(facts: readonly WrittenFact[], spot: Spot): Promise<Wrapped> {
    const cipher = this.#cipher;
    const blobs = new Map<string, string>();
    const texts: string[] = [];
    for (const [index, { fact, at, text }] of facts.entries()) {
      if (cipher === null && text.length <= inlineLength) {
        texts.push(text);
        continue;
      }
      const wrapped = await changeValues(fact, async (value, field) => {
        const packed =
          text.length <= inlineLength
            ? JSON.stringify(value)
            : pack(value, (part) => this.#keep(part, blobs));
        return cipher === null
          ? (JSON.parse(packed) as Json)
          : sealed(await cipher.seal(packed, placeOf(spot, fact, index, field)));
      });
      texts.push(writeText(wrapped, at));
    }
    const named = await Promise.all([...blobs].map(([name, text]) => this.#blob(name, text)));
    return { texts, blobs: named, contents: blobs };
  }

  #keep(text: string, blobs: Map<string, string>): string {
    const name = this.#names.get(text) ?? this.nameOf(text);
    this.#names.set(text, name);
    if (!this.#named.has(name)) blobs.set(name, text);
    return name;
  }

  async #blob(name: string, text: string): Promise<NamedBlob> {
    if (this.#texts.has(name)) return { name };
    const body = await this.#cipher?.seal(text, { runId: "", at: name });
    return { name, body: body === undefined ? text : JSON.stringify(sealed(body)) };
  }

  /** A name for content, which reveals nothing of it where values are encrypted. */
  nameOf(content: string): string {
    return this.#cipher?.nameOf(content) ?? plainName(content);
  }

  /** A report, a question or an error as the head of a run has it: bound to its run, and not to a position. */
  async sealText(value: Json, place: Place): Promise<string> {
    const text = JSON.stringify(value);
    const body = await this.#cipher?.seal(text, place);
    return body === undefined ? text : JSON.stringify(sealed(body));
  }

  /** The seals of a journal; none without a cipher. */
  chain(): Chain | undefined {
    return this.#cipher?.chain();
  }

  /** True when values are encrypted here or in one of these batches. */
  seals(texts: readonly string[]): boolean {
    return this.#cipher !== null || texts.some(isSealed);
  }

  /** A chapter names its blobs anew, so that it can be read without the ones before. */
  beginChapter(): void {
    this.#named.clear();
  }

  /** Drops what it knows of blobs. */
  forget(): void {
    this.#texts.clear();
    this.#values.clear();
  }

  /** The batch is stored, so its blobs need not be sent again. */
  landed({ contents }: Wrapped): void {
    for (const [name, text] of contents) {
      this.#named.add(name);
      this.#texts.set(name, text);
    }
  }

  /** Adds blobs that were read with a run; `own` when it is the run of this journal. */
  async learn(
    blobs: Readonly<Record<string, string>> = {},
    { runId, own }: { readonly runId: string; readonly own: boolean },
  ): Promise<void> {
    for (const [name, body] of Object.entries(blobs)) {
      const where = `Blob ${name} of run ${runId}`;
      if (!this.#texts.has(name)) {
        const text = isSealed(body)
          ? await this.#open(parsed(body), { runId: "", at: name }, where)
          : this.#plain(body, where);
        if (text === body && plainName(text) !== name) continue;
        this.#texts.set(name, text);
      }
      if (own) this.#named.add(name);
    }
  }

  /** Restores the facts of a batch: decrypts values and puts their blobs back. */
  unwrap(batch: ReadBatch, text: string, spot: Spot): ReadBatch | Promise<ReadBatch> {
    const plain =
      this.#cipher === null && (!text.includes('{"$":"') || !(isSealed(text) || mayBePacked(text)));
    return plain ? batch : this.#opened(batch, spot);
  }

  async #opened(batch: ReadBatch, spot: Spot): Promise<ReadBatch> {
    const facts = batch.facts.map(async ({ fact, at }, index) => {
      const subject = "key" in fact ? ` of "${fact.key}"` : "";
      const where = `${fact.kind}${subject} in batch ${spot.position} of run ${spot.runId}`;
      const whole = await changeValues(fact, async (value, field) => {
        const packed = isTagged(value, "sealed")
          ? (JSON.parse(await this.#open(value, placeOf(spot, fact, index, field), where)) as Json)
          : this.#plain(value, where);
        return this.#unpacked(packed, 0, where).value;
      });
      return { fact: whole, at };
    });
    // If several values cannot be decrypted, always report the first one, and not the one that failed fastest.
    await Promise.allSettled(facts);
    return { ...batch, facts: await Promise.all(facts) };
  }

  #plain<T>(value: T, where: string): T {
    if (this.#cipher?.acceptsPlain ?? true) return value;
    throw new DurableError(
      "tampered",
      `${where} is not encrypted, but encryption is on. If it is older than your keys, pass acceptPlain: true to aesGcm.`,
    );
  }

  async #open(value: Json, place: Place, where: string): Promise<string> {
    const text = (value as { readonly v?: Json } | null)?.v;
    try {
      if (this.#cipher !== null) return await this.#cipher.open(typeof text === "string" ? text : "", place);
    } catch (error) {
      const code = DurableError.is(error, "no-key") ? "no-key" : "tampered";
      throw new DurableError(code, `${where} cannot be decrypted. ${describeError(error)}`, { cause: error });
    }
    throw new DurableError(
      "no-key",
      `${where} is encrypted, but this process has no key. Pass { encryption: aesGcm({ current, keys }) }.`,
    );
  }

  /** A value with its blobs put back, and its size as text. A few blobs that name each other could have any size. */
  #unpacked(packed: Json, length: number, where: string): Unpacked {
    let size = length;
    const value = unpack(packed, (name) => {
      const part = this.#find(name, where);
      size += part.size;
      if (size > mostUnpacked) throw corrupt(where);
      return part.value;
    });
    return { value, size };
  }

  /** Parses each blob once, so that values that share a part also share it in memory. */
  #find(name: string, where: string): Unpacked {
    const known = this.#values.get(name);
    if (known !== undefined) return known;
    const text = this.#texts.get(name);
    if (text === undefined) {
      throw new DurableError(
        "corrupt",
        `${where} refers to blob ${name}, which is missing or damaged. Restore the journal from a backup.`,
      );
    }
    const found = this.#unpacked(JSON.parse(text) as Json, text.length, where);
    this.#values.set(name, found);
    return found;
  }
}

/**
 * Why a run is blocked, as it is kept beside its head: the message may have recorded values, so it is encrypted; code and
 * times are not. It is bound to its run, and not to a position.
 */
export async function sealNote(
  note: BlockedNote,
  locator: string,
  cipher: Cipher | null,
): Promise<BlockedNote> {
  const body = await cipher?.seal(note.message, { runId: locator, at: "blocked" });
  return body === undefined ? note : { ...note, message: JSON.stringify(sealed(body)) };
}

/** The note as people read it. Without the key it says so: the code is still useful. */
export async function openNote(
  note: BlockedNote,
  locator: string,
  cipher: Cipher | null,
): Promise<BlockedNote> {
  if (!isSealed(note.message)) return note;
  const text = (parsed(note.message) as { readonly v?: Json } | null)?.v;
  try {
    if (cipher !== null && typeof text === "string")
      return { ...note, message: await cipher.open(text, { runId: locator, at: "blocked" }) };
  } catch {
    // Another key, or changed by others: the same as without a key.
  }
  return { ...note, message: "The reason is encrypted, and no key of this process opens it." };
}

const none: ReadonlyMap<string, string> = new Map();

function plainName(text: string): string {
  return digest(32, "blob", text);
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return null;
  }
}

function sealed(text: string): Json {
  return { $: "sealed", v: text };
}

function isTagged(value: Json, tag: string): boolean {
  return typeof value === "object" && (value as { readonly $?: Json } | null)?.$ === tag;
}

function isSealed(text: string): boolean {
  return text.includes('{"$":"sealed"');
}

function placeOf(spot: Spot, fact: Fact<Json>, index: number, field: string): Place {
  const subject = "key" in fact ? fact.key : "wait" in fact ? fact.wait : "";
  return { runId: spot.runId, at: joinParts([spot.position, index, fact.kind, subject, field]) };
}

/** A copy of a fact with all its values changed. */
async function changeValues(
  fact: Fact<Json>,
  change: (value: Json, field: string) => Promise<Json>,
): Promise<Fact<Json>> {
  const fields = { ...fact } as Record<string, unknown>;
  for (const field of valueFields(fact))
    if (fields[field] !== undefined) fields[field] = await change(fields[field] as Json, field);
  if (fact.kind === "run.forked") {
    const edits: Edit<Json>[] = [];
    for (const [i, edit] of fact.edits.entries())
      edits.push({ ...edit, value: await change(edit.value, `edit ${i}`) });
    fields["edits"] = edits;
  }
  return fields as unknown as Fact<Json>;
}
