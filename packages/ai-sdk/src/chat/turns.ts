/**
 * The runs of a chat, listed in a journal of the chat in the order in which they were asked for.
 *
 * T1. A run is listed before it starts, so that a request that is sent twice has one run.
 * T2. A request joins the last round of its turn if it may be a repetition, and begins a round otherwise:
 *     - a message, unless its answer failed or was stopped;
 *     - an edit, also if another turn came after it;
 *     - another answer only while the answer is under way and nothing came after it. If the request has a key, the key
 *       decides instead.
 *
 * T3. Work that may happen once in a chat, such as the execution of an approved call, is taken by one run.
 *
 * Proven in test/chat.test.ts, test/chat-identity.test.ts and test/chat-claims.test.ts.
 */

import { DurableError, Journal, type JournalOptions } from "@durable/core";
import type { Entry } from "@durable/core/types";
import { fingerprint } from "@durable/core/storage";
import type { Ask } from "./asked.ts";
import type { Progress } from "./message.ts";

export interface Turn {
  readonly runId: string;
  /** False when the request is a repetition for sure, or a new round. */
  readonly guessed: boolean;
}

/** What happens before a turn is listed. */
export interface Beginning {
  readonly admit: (runId: string) => Promise<void>;
  readonly begin: (journal: Journal) => Promise<unknown>;
}

/** What a list of chats shows of one. */
export interface ChatFacts {
  readonly title: string;
  readonly startedAt: number;
  /** When its last turn was asked for. */
  readonly updatedAt: number;
}

/** The key of the first words of a chat in its journal. */
export const titleKey = "title";

export class Turns {
  readonly #options: JournalOptions;

  constructor(options: JournalOptions) {
    this.#options = options;
  }

  /**
   * The run of this request. `progressOf` is asked about earlier runs; without it, a new round begins. `admit` may refuse
   * a new round, which is then not listed. `begin` is called before the first one of a chat.
   */
  async add(
    ask: Ask,
    progressOf: ((runId: string) => Promise<Progress>) | null,
    { admit, begin }: Beginning,
  ): Promise<Turn> {
    const journal = await this.#open(ask.chatId);
    const known = runsIn(journal);
    const turn = `chat-${fingerprint(ask.chatId)}-${ask.id}`;
    const rounds = known.filter((run) => run === turn || run.startsWith(`${turn}-`));
    const last = rounds.at(-1);
    const keyed = ask.kind === "again" && ask.key !== null ? `${turn}-${fingerprint(ask.key)}` : null;
    if (keyed !== null && rounds.includes(keyed)) return { runId: keyed, guessed: false };
    if (keyed === null && last !== undefined && progressOf !== null) {
      const isLatest = known.at(-1) === last;
      if (joins(ask, await progressOf(last), isLatest)) return { runId: last, guessed: ask.kind !== "send" };
    }
    const runId = keyed ?? (last === undefined ? turn : `${turn}-${rounds.length + 1}`);
    await admit(runId);
    if (known.length === 0) await begin(journal);
    // Another request may take the number first; then the journal returns that one.
    for (let number = known.length + 1; ; number++)
      if ((await journal.record(`turn ${number}`, () => runId)) === runId) return { runId, guessed: false };
  }

  /** True if this run may do the work of this name: no run has it, or each that had it is `unused`. */
  async take(
    { chatId, runId, name }: { readonly chatId: string; readonly runId: string; readonly name: string },
    unused: (runId: string) => Promise<boolean>,
  ): Promise<boolean> {
    const journal = await this.#open(chatId);
    for (let number = 1; ; number++) {
      const owner = await journal.record(`approval ${name} ${number}`, () => runId);
      if (owner === runId) return true;
      if (!(await unused(owner))) return false;
    }
  }

  /** The runs of a chat. Their ids follow from the chat, so a list that was changed names no run of another one. */
  async runs(chatId: string): Promise<readonly string[]> {
    const own = `chat-${fingerprint(chatId)}-`;
    return runsIn(await this.#open(chatId)).filter((runId) => String(runId).startsWith(own));
  }

  /** The run of the last turn, or `null`. */
  async last(chatId: string): Promise<string | null> {
    return (await this.runs(chatId)).at(-1) ?? null;
  }

  /** This run, if it belongs to the chat. */
  async find(chatId: string, runId: string): Promise<string | null> {
    return (await this.runs(chatId)).includes(runId) ? runId : null;
  }

  /** `null` if the chat has no turn, or was deleted. */
  async facts(chatId: string): Promise<ChatFacts | null> {
    const entries = (await this.#open(chatId)).entries();
    const turns = entries.filter((entry) => turnOf(entry) !== null);
    const first = entries.find((entry) => entry.kind === "step.completed" && entry.key === titleKey);
    const [turn] = turns;
    if (turn === undefined) return null;
    const title = first?.kind === "step.completed" ? String(first.value) : "";
    return { title, startedAt: turn.at, updatedAt: turns.at(-1)?.at ?? turn.at };
  }

  /** Removes the list of runs, and what else is kept of the chat. */
  delete(chatId: string): Promise<void> {
    return Journal.delete(journalOf(chatId), this.#options);
  }

  #open(chatId: string): Promise<Journal> {
    return Journal.open(journalOf(chatId), this.#options);
  }
}

function joins({ kind }: Ask, progress: Progress, isLatest: boolean): boolean {
  if (progress === "ended") return false;
  if (kind === "send") return true;
  return isLatest && (kind === "edit" || progress === "open");
}

function journalOf(chatId: string): string {
  return `chat-${fingerprint(chatId)}`;
}

function runsIn(journal: Journal): string[] {
  return journal.entries().flatMap((entry) => turnOf(entry) ?? []);
}

/** The run that an entry lists. */
function turnOf(entry: Entry): string | null {
  return entry.kind === "step.completed" && entry.key.startsWith("turn ") ? (entry.value as string) : null;
}

/** Resolves to `otherwise` if there is no such run. */
export async function unlessMissing<T, O>(work: Promise<T>, otherwise: O): Promise<T | O> {
  try {
    return await work;
  } catch (error) {
    if (DurableError.is(error, "not-found")) return otherwise;
    throw error;
  }
}
