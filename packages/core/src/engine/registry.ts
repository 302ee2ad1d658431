/**
 * The calls that a workflow has made: their keys, the checks of law 5, and which call waits for which entry.
 * A call is anything with a key: a step, a sleep, a suspend point, a group.
 */

import type { Json } from "../values/codec/tags.ts";
import type { Entry } from "../journal/entry.ts";
import type { Mailbox, Message } from "../journal/mailbox.ts";
import { DurableError } from "../values/errors.ts";
import type { World } from "../ports/world.ts";
import type { CallKind, KeyRecord, Replay, Settlement } from "./replay.ts";
import type { CallPromise } from "./promise.ts";
import type { Scope } from "./scope.ts";
import type { ByContent } from "./definition.ts";

/** One call that can settle, as the engine's loop sees it. */
export interface Call {
  readonly key: string;
  readonly kind: CallKind;
  readonly scope: Scope;
  /** Highest position delivered when the call was made. */
  readonly after: number;
  /** The workflow has its outcome. */
  readonly settled: boolean;
  /** Its start is recorded before its work begins. */
  readonly announced?: boolean;
  /** How it was made. */
  readonly entered: Entered;
  /** Its name comes from its content. */
  readonly byContent?: ByContent | undefined;
  /** Hands the recorded outcome to the workflow. */
  settle(settlement: Settlement): void;
  /** The journal has no outcome: start the work, or open the wait. Called again after a failed attempt. */
  begin(): void;
  /** The requested time has come. */
  due(): void;
  /** An entry for this call came from outside. */
  recheck?(): void;
  /** The topic of the messages that it waits for. */
  readonly topic?: string | undefined;
  /** The id of its wait, and what it asks. */
  readonly wait?: string;
  readonly note?: Json;
  /** Gives back a message after this position whose verdict is not durable; returns its position. */
  giveBack?(after: number): number | null;
  /** The encoded outcome that a value becomes, or why it is invalid. Absent where any value is valid. */
  check?(value: unknown): Promise<{ readonly value: Json } | string>;
}

/** The call that the workflow asks for. */
export interface Asked {
  readonly scope: Scope;
  readonly kind: CallKind;
  readonly name: string;
  /** Declared input in its recorded form, or null. */
  readonly input: string | null;
  /** A name that the call had in an earlier version of the code; `null` for one that is new. */
  readonly was?: string | null | undefined;
  /** Its name comes from its content. */
  readonly byContent?: ByContent | undefined;
  /** The code acts on its words while they come. */
  readonly live?: true | undefined;
  /** What it does, if a rename can be known by the source text. */
  readonly work?: ((info: never) => unknown) | undefined;
  /** For what its usage is, in sums of many calls. */
  readonly label?: string | undefined;
  /** The engine makes the call, not the workflow. */
  readonly own?: true;
  /** It asks a model, so an eval runs it. */
  readonly model?: true | undefined;
  /** Its work has no effects, because it is a stub of an eval. */
  readonly stub?: true | undefined;
}

/** An accepted call: its key, the highest position delivered before it, and its record. */
export interface Entered {
  readonly key: string;
  readonly after: number;
  readonly record: KeyRecord | undefined;
  /** Made after the code awaited something other than ctx. */
  readonly foreign: boolean;
  readonly asked?: Asked;
  /** `past` of its scope, and how far the code had come, when the call was made. */
  readonly past?: number;
  readonly reached?: number;
}

export class CallRegistry {
  readonly #runId: string;
  readonly #replay: Replay;
  readonly #byKey = new Map<string, Call>();
  readonly #byWait = new Map<string, Call>();
  readonly #closed = new Set<string>();
  readonly #rejected: { readonly key: string; readonly promise: CallPromise<unknown> }[] = [];
  readonly #world: World;
  readonly inspects: boolean;
  #foreignSeen = false;
  /** Positions of messages that a receive has taken, and whose verdict may not be durable yet. */
  readonly #taken = new Set<number>();

  /** `inspects`: settled calls are kept. */
  constructor(runId: string, replay: Replay, world: World, inspects: boolean) {
    this.#runId = runId;
    this.#replay = replay;
    this.#world = world;
    this.inspects = inspects;
  }

  /** Assigns the key and checks it against the record; a mismatch is returned, never thrown at user code. */
  enter(asked: Asked, inTurn: boolean): Entered | DurableError {
    const { scope, kind, name } = asked;
    const what = (): string => `A ${kind} of run ${this.#runId}`;
    let { key: own, count } = scope.key(name, what);
    // A renamed step may have taken over the record of this name, or the record may be about words that no longer exist: then
    // the next free count is used.
    while (this.#replay.isCalled(own) || this.#isLost(own, asked))
      ({ key: own, count } = scope.key(name, what));
    const key = this.#recordedKey(own, count, asked);
    // Equal content gives equal questions: they are numbered in the order in which they are asked.
    const isTimed = !inTurn && asked.byContent === undefined;
    if (isTimed && scope.flight(name, 0) > 0) return this.#foreign(key, name);
    const record = this.#replay.record(key);
    if (record !== undefined && isOther(record, asked)) return this.#diverged(key, record, asked);
    if (isTimed && !this.#foreignSeen) this.#world.warn(foreignWarning(this.#runId, key));
    // The words of a model come while it speaks, and its SDK may pause between them: nothing that the code can put into a step.
    this.#foreignSeen ||= isTimed || asked.live === true;
    this.#replay.call(key);
    const { past } = scope;
    const { reached } = this.#replay;
    if (record !== undefined && !record.inserted) scope.past = Math.max(past, record.after);
    return { key, after: this.#replay.delivered, record, foreign: !inTurn, asked, past, reached };
  }

  add(call: Call, name: string): void {
    this.#byKey.set(call.key, call);
    call.scope.flight(name, 1);
  }

  addWait(call: Call, wait: string): void {
    this.#byWait.set(wait, call);
  }

  /**
   * The call has settled, so it is no longer open beside another call of its name. A driver needs it no more; who
   * inspects a replay may ask for it.
   */
  landed(call: Call, name: string): void {
    call.scope.flight(name, -1);
    if (!this.inspects) this.#byKey.delete(call.key);
  }

  /** The call failed; `promise` knows whether the code observes it. */
  rejected(key: string, promise: CallPromise<unknown>): void {
    this.#rejected.push({ key, promise });
  }

  /** Failures that the code has not observed. */
  unawaited(): string[] {
    return this.#rejected.filter(({ promise }) => !promise.observed).map(({ key }) => key);
  }

  /** Steps, streams and children that were called and have no outcome, and that no branch has given up. */
  unfinished(...kinds: readonly CallKind[]): string[] {
    const open = [...this.#byKey.values()].filter(
      ({ kind, settled, scope }) => kinds.includes(kind) && !settled && !scope.closed,
    );
    return open.map(({ key }) => key);
  }

  /**
   * True when the code may still call this open wait: work or time is left, or the code awaits something other than ctx.
   * The latter shows when the wait was opened after such an await, when the code waits for nothing from ctx, or when
   * recorded results are unclaimed. A suspend point without a record means changed code.
   */
  mayReach({ foreign }: { readonly foreign?: true }): boolean {
    const waits = this.unfinished("suspend");
    return (
      foreign === true ||
      this.unfinished("step", "stream", "child", "spawn", "sleep").length > 0 ||
      waits.length === 0 ||
      waits.some((key) => this.#byKey.get(key)?.entered.asked?.was === null) ||
      (this.#replay.orphans().length > 0 && waits.every((key) => this.#replay.record(key)?.opened === true))
    );
  }

  get(key: string): Call | undefined {
    return this.#byKey.get(key);
  }

  /** All calls that are kept, in the order in which they were made. */
  all(): Iterable<Call> {
    return this.#byKey.values();
  }

  /** Passes a durable entry to the open call that it concerns. */
  notify(entry: Entry): void {
    switch (entry.kind) {
      case "attempt.failed":
      case "step.started":
        return this.#byKey.get(entry.key)?.begin();
      case "stream.chunks":
      case "spawn.opened":
      case "child.opened":
      case "child.completed":
      case "child.failed":
        return this.#byKey.get(entry.key)?.recheck?.();
      case "suspend.answered":
        return this.byWait(entry.wait)?.recheck?.();
      case "message.sent":
        for (const call of this.#byKey.values()) if (call.topic === entry.topic) call.recheck?.();
        return;
      default:
    }
  }

  /** Takes the first unread message of a topic for one receive; `null` when there is none. */
  take(topic: string, { unread }: Mailbox): Message | null {
    for (const message of unread.values()) {
      if (message.topic !== topic || this.#taken.has(message.seq)) continue;
      this.#taken.add(message.seq);
      return message;
    }
    return null;
  }

  /**
   * The receive was closed before its verdict was durable: the message is for another one. Later messages are given out
   * again, so that the first receive that is open gets the first message.
   */
  putBack(message: Message): void {
    for (const call of this.#byKey.values()) {
      const later = call.topic === message.topic ? (call.giveBack?.(message.seq) ?? null) : null;
      if (later !== null) this.#taken.delete(later);
    }
    this.#taken.delete(message.seq);
    this.notify(message);
  }

  byWait(wait: string): Call | undefined {
    return this.#byWait.get(wait);
  }

  /** Notes that calls below this path no longer get an answer. */
  close(path: string): void {
    this.#closed.add(path);
  }

  isClosed(key: string): boolean {
    // The path itself, and every path around it: the parts of the key that end before a `/` or a `[`.
    for (
      let end = key.length;
      end > 0;
      end = Math.max(key.lastIndexOf("/", end - 1), key.lastIndexOf("[", end - 1))
    )
      if (this.#closed.has(key.slice(0, end))) return true;
    return false;
  }

  /** The call differs from the record, because the stream that both act on said other words. */
  #isLost(key: string, asked: Asked): boolean {
    const record = this.#replay.record(key);
    // What became of work that was begun must be settled first.
    return record?.started === null && isOther(record, asked) && this.#replay.isLost(key);
  }

  /** The new name wins if it is recorded; otherwise the record of the old name is taken over, count for count. */
  #recordedKey(own: string, count: number, { scope, was }: Asked): string {
    if (was === undefined || was === null || this.#replay.record(own) !== undefined) return own;
    const old = scope.keyOf(was, count);
    return this.#replay.record(old) !== undefined && !this.#replay.isCalled(old) ? old : own;
  }

  #diverged(key: string, record: KeyRecord, asked: Asked): DurableError {
    const found =
      record.kind !== asked.kind
        ? `is recorded as kind "${record.kind}", but the code asks for kind "${asked.kind}"`
        : `is recorded with ${describeInput(record.input)}, but the code declares ${describeInput(asked.input)}`;
    // Renaming does not help for an open wait: a wait that the code does not reach blocks the run, too.
    const rename = record.kind === "suspend" && !record.settled ? "" : "give the new call another name, ";
    return new DurableError(
      "diverged",
      `Run ${this.#runId} does not fit this code: "${key}" ${found}. Restore the code, ${rename}or fork the run from "${key}"; then advance it again.`,
      {
        details: {
          key,
          recorded: { kind: record.kind, input: record.input },
          asked: { kind: asked.kind, input: asked.input },
        },
      },
    );
  }

  #foreign(key: string, name: string): DurableError {
    return new DurableError(
      "foreign-await",
      `Run ${this.#runId} called "${key}" after awaiting something other than ctx, while another "${name}" was open, so replay could swap them. Put the wait inside a step, or use different names.`,
      { details: { key } },
    );
  }
}

/** The record is of another kind, or of other declared input. */
function isOther(record: KeyRecord, { kind, input }: Asked): boolean {
  return record.kind !== kind || (record.input !== input && record.input !== null);
}

/** Durations and branches are shown as they are; any other input is a fingerprint. */
function describeInput(input: string | null): string {
  if (input === null) return "no input";
  return /^[a-z2-7]{16}$/.test(input) ? `input fingerprint ${input}` : input;
}

function foreignWarning(runId: string, key: string): string {
  return `run ${runId} called "${key}" after awaiting something other than ctx. Put the wait inside a step.`;
}
