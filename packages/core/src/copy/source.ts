/**
 * What a storage has of one run, as a copy needs it: the head after each batch, the chapters, and a text that stands for
 * each batch that was dropped. Reads kinds and names of entries, which are never encrypted, and no values.
 */

import { readBatch } from "../journal/batch.ts";
import { RunState, summarize, type Summary } from "../journal/fold.ts";
import type { ReadReply, RunHead } from "../ports/storage.ts";

/** Takes the place of a dropped batch until the target drops it as well. Every build refuses to read it. */
export const filler = '{"v":0,"copied":"a batch that was dropped"}';

export class SourceRun {
  readonly locator: string;
  readonly reply: ReadReply;
  /** The position of the first batch that is kept. */
  readonly first: number;
  /** Positions at which chapters begin. */
  readonly chapters: readonly number[];
  /** The head after the last batch. */
  readonly head: RunHead;

  constructor(locator: string, reply: ReadReply) {
    const { batches, from = 0, head } = reply;
    this.locator = locator;
    this.reply = reply;
    this.first = from;
    const begins = (text: string, position: number): boolean =>
      position > 0 && (position === from || position === head?.chapter || continues(text));
    this.chapters = batches.flatMap((text, i) => (begins(text, from + i) ? [from + i] : []));
    this.head = head ?? this.#nameless();
  }

  /** Names the run in messages. A deleted run has no name. */
  get title(): string {
    return this.head.runId === "" ? `with locator ${this.locator}, which was deleted,` : this.head.runId;
  }

  get length(): number {
    return this.reply.length;
  }

  get deleted(): boolean {
    return this.reply.deleted === true;
  }

  batchAt(position: number): string {
    return this.reply.batches[position - this.first] ?? filler;
  }

  /** The head to append a batch with. Until the last one, the run is not due. */
  headAt(position: number): RunHead {
    if (position === this.length - 1) return this.head;
    const { chapter: _, ...head } = this.head;
    const chapter = this.chapters.findLast((begin) => begin <= position);
    return { ...head, wakeAt: null, dueSince: null, ...(chapter !== undefined && { chapter }) };
  }

  /** The run as a target has it that copied it before the deletion. */
  shown(): SourceRun {
    return this.reply.head === undefined
      ? new SourceRun(this.locator, { ...this.reply, head: this.#folded() })
      : this;
  }

  /** The head of a deleted run: only what its readers need. It has no name, so no list shows what was deleted. */
  #nameless(): RunHead {
    const { createdAt, ancestors, readsFrom, chapter } = this.#folded();
    return {
      locator: this.locator,
      runId: "",
      workflow: "",
      status: "cancelled",
      wakeAt: null,
      dueSince: null,
      createdAt,
      updatedAt: createdAt,
      steps: 0,
      label: null,
      parent: null,
      ancestors,
      ...(readsFrom && { readsFrom }),
      ...(chapter !== undefined && { chapter }),
    };
  }

  #folded(): RunHead {
    const summary: Summary = { ...new RunState().summary };
    for (const [i, text] of this.reply.batches.entries()) {
      const position = this.first + i;
      const { facts } = readBatch(text, `Batch ${position} of the journal ${this.locator}`);
      for (const { fact, at } of facts) summarize(summary, fact, at, position);
    }
    return { locator: this.locator, ...summary };
  }
}

/** True for a batch that begins a chapter. */
function continues(text: string): boolean {
  // Most batches do not have the word, and need not be parsed.
  if (!text.includes('"run.continued"')) return false;
  try {
    const { entries } = JSON.parse(text) as { readonly entries?: readonly { readonly kind?: unknown }[] };
    return entries?.[0]?.kind === "run.continued";
  } catch {
    return false;
  }
}
