/**
 * What the head of a run says of its waits and its failure (`Marks`), from one append to the next. Their texts are values: they
 * are kept as the storage has them, and sealed once, not with every append.
 */

import type { RootError, RunHead } from "../ports/storage.ts";
import { hasSameMarks } from "../ports/storage-kit.ts";
import { defined } from "../values/options.ts";
import type { Json } from "../values/codec/tags.ts";
import type { WrittenFact } from "./batch.ts";
import type { Entry } from "./entry.ts";
import type { Envelope } from "./envelope.ts";
import type { RunState, Summary } from "./fold.ts";
import type { Beginning } from "./kinds.ts";
import { rootErrorOf } from "./root-error.ts";
import { retaken } from "./taken-back.ts";
import type { Marks } from "./waits.ts";

/** Characters of the name of a group of failures. */
const groupLength = 16;

/** What is known of the run before the append. */
interface Known {
  readonly position: number;
  /** Only of a run that is recorded. */
  readonly first: Beginning;
  readonly seq: number;
  readonly entries: Entry[];
  readonly struck: readonly Entry[];
  readonly state: RunState;
}

export class HeadMarks {
  readonly #envelope: Envelope;
  /** The head in the storage. */
  #head: RunHead | null = null;
  /** `null` while it is not known. */
  #marks: Marks | null = null;
  #question: { readonly text: string; readonly sealed: string } | null = null;

  constructor(envelope: Envelope) {
    this.#envelope = envelope;
  }

  /** Keeps what the head in the storage says; `null` if it is not known. */
  keep(head: RunHead | null, marks = head && marksIn(head)): Marks | null {
    this.#head = head;
    this.#marks = marks;
    return marks;
  }

  /**
   * The marks after these facts, if they are those of now: so for most appends, which therefore wait for nothing. A run that
   * waits for something else than an answer goes on with any of them. The first head of a fork has none of the waits that
   * it inherits, because its creator does not read them. The next has.
   */
  unchanged(facts: readonly WrittenFact[], known: Known): Marks | null {
    if (this.#marks === null || this.#marks.mark === "waiting" || !facts.every(isStill)) return null;
    return known.position > 1 || known.first.kind !== "run.forked" ? this.#marks : null;
  }

  async after(facts: readonly WrittenFact[], known: Known, summary: Summary): Promise<Marks> {
    const [first] = facts;
    if (first?.fact.kind === "run.continued") return {};
    const isRetried = first?.fact.kind === "run.retried";
    const { state } = isRetried ? retaken(known, first.fact, known.seq + 1) : known;
    const recorded = facts.map(({ fact }) => fact);
    const failed = recorded.find(({ kind }) => kind === "run.failed" || kind === "run.failing");
    const error =
      failed !== undefined && "error" in failed
        ? await this.#rootError(failed.error, summary.runId)
        : isRetried
          ? undefined
          : this.#marks?.error;
    const marks = { ...state.marksAfter(recorded, summary), ...(error === undefined ? {} : { error }) };
    if (marks.waits === undefined || state.skimmed !== null) return marks;
    const { question: text = "", ...open } = marks.waits;
    if (this.#question?.text !== text) {
      const sealed = await this.#envelope.sealText(text, { runId: summary.runId, at: "question" });
      this.#question = { text, sealed };
    }
    return { ...marks, waits: { ...open, question: this.#question.sealed } };
  }

  async #rootError(error: Json, runId: string): Promise<RootError> {
    const { message, group, ...root } = rootErrorOf(error);
    const sealed = await this.#envelope.sealText(message, { runId, at: "error" });
    return { ...root, group: this.#envelope.nameOf(group).slice(0, groupLength), message: sealed };
  }

  /** True when the head in the storage is not known to say the same. */
  isNew(head: RunHead): boolean {
    return this.#head === null || !hasSameMarks(this.#head, head);
  }
}

function marksIn({ waits, mark, error }: RunHead): Marks {
  return defined({ waits, mark, error });
}

/** True for a fact that says nothing about waits, usage or errors. */
function isStill({ fact }: WrittenFact): boolean {
  return !("wait" in fact) && !("usage" in fact) && !fact.kind.startsWith("run.");
}
