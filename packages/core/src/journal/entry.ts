/**
 * The entries of a journal, and their fields.
 *
 * entry.1. `seq` is dense from 1 over a run's entries. A fork counts on from its parent, so that the
 *     positions in inherited entries keep their meaning.
 */

import type { Json } from "../values/codec/tags.ts";
import type { RunFlow } from "../ports/storage.ts";
import type { Usage, UsageRow } from "../values/usage.ts";

/** What a fork reads of one ancestor. */
export interface Ancestor {
  readonly runId: string;
  /** How many batches the ancestor had when the fork was created. */
  readonly length: number;
  /** The position of the batch that begins the chapter which the fork reads; the first one when it is missing. */
  readonly from?: number;
  /** Its own entries are numbered from here on. */
  readonly base: number;
  /** Names the incarnation, or the chapter, that the fork reads. */
  readonly nonce: string;
  /** Which of its entries the fork does not see. */
  readonly cuts: readonly Cut[];
  /** Its own ancestors come before it, with these cuts, too. So a long line of forks is not named again by each. */
  readonly above?: true;
}

/** Drops calls made at or after position `at`, except in sibling branches; `keep` keeps `key` itself. */
export interface Cut {
  readonly key: string;
  readonly at: number;
  readonly keep: boolean;
}

/** A recorded output that a fork replaces. `open` describes a call that had not settled in the parent. */
export interface Edit<V> {
  readonly key: string;
  readonly value: V;
  readonly open?: {
    readonly after: number;
    readonly wait?: string;
    /** The kind of the call, if it is neither a step nor a suspend point. */
    readonly kind?: "stream" | "child";
  };
}

/**
 * Fields of every entry of a call: `after` is the highest position that the workflow had seen when it made
 * the call.
 */
interface Called {
  readonly key: string;
  readonly after: number;
  /** The code was changed: the call was new, and came before recorded calls of its branch. */
  readonly inserted?: true;
  /** In a fork of an eval: nothing ran, and the outcome is that of this key of the original. */
  readonly answered?: string;
}

interface Attempted<V> extends Called {
  readonly startedAt: number;
  readonly attempt: number;
  /** Fingerprint of the declared input. */
  readonly input?: string;
  /** Tokens that the attempt used, per model. */
  readonly usage?: readonly Usage[];
  /** What the attempt is taken to have cost, in a run with a budget: its usage is not known. */
  readonly assumed?: number;
  /** The call took over the outcome of this key, because the code was changed. */
  readonly kept?: string;
  /**
   * With a result: `key` when the work read its idempotency key, `content` when the name comes from the content, or a
   * fingerprint of the source text of the work. A rename is known by it.
   */
  readonly work?: string;
  /** What was asked of a model: only where the app keeps prompts. */
  readonly prompt?: V;
}

/** The parent of a child run, and the call there that receives its end. */
export interface ChildOf {
  readonly runId: string;
  readonly key: string;
  /** The `after` of the call in the parent, for the entry that reports the end. */
  readonly after: number;
}

/** The run that spawned this one, and the call there. Nothing is reported to it. */
export interface SpawnedBy {
  readonly runId: string;
  readonly key: string;
  /** This run is cancelled when that run ends. */
  readonly onParentEnd?: "cancel";
}

/** A budget that a run shares with all runs below it. */
export interface TreeBudget {
  /** Names the text of the storage that has its sums. */
  readonly id: string;
  readonly most: number;
  readonly onLimit?: "fail";
}

/** A turn of a rate: when a run asks for it again. */
export interface Turn {
  /** The name of the rate in the storage. */
  readonly rate: string;
  /** By the clock of the storage. */
  readonly at: number;
}

/** What an entry records. `V` is the type of values: encoded inside the engine, decoded for users. */
export type Fact<V> =
  | {
      readonly kind: "run.started";
      readonly runId: string;
      /** Empty for a journal without a workflow. */
      readonly workflow: string;
      readonly version: string | null;
      readonly input: V;
      readonly childOf?: ChildOf;
      readonly spawnedBy?: SpawnedBy;
      readonly tags?: Readonly<Record<string, string>>;
      /** For whom the run was started. */
      readonly scope?: string;
      /** The schedule that started the run. */
      readonly schedule?: string;
      /** Names this incarnation of the run id. */
      readonly nonce: string;
      readonly flow?: RunFlow;
      /** When the run fails, unless it has ended before. */
      readonly deadline?: number;
      /** Budgets of runs above it, from which it spends. */
      readonly budgets?: readonly TreeBudget[];
      /** The eval that the run is. */
      readonly eval?: string;
    }
  /**
   * When the run begins has changed: it got a turn of its rate, or was debounced from outside. With `begun`, its time and
   * its input are final.
   */
  | {
      readonly kind: "run.queued";
      /** Missing when it stays as it is. */
      readonly flow?: RunFlow;
      readonly turn?: Turn;
      /** What a start gave that has moved the run. Its tags and its deadline replace those before, also by none. */
      readonly input?: V;
      readonly tags?: Readonly<Record<string, string>>;
      readonly deadline?: number;
      readonly begun?: true;
    }
  /** Ends a chapter and begins the next. It has all that a reader needs, so that earlier batches are not read. */
  | ({
      readonly kind: "run.continued";
      readonly runId: string;
      readonly workflow: string;
      readonly version: string | null;
      readonly input: V;
      readonly childOf?: ChildOf;
      readonly spawnedBy?: SpawnedBy;
      readonly schedule?: string;
      /** An earlier chapter has spawned runs that are cancelled when this run ends. */
      readonly endsSpawned?: true;
      readonly nonce: string;
      /** The number of the chapter that begins; 2 for the second. */
      readonly chapter: number;
      /** The entries of the chapter are numbered from here on. */
      readonly base: number;
      /** Fingerprint of the input with which the run was started. */
      readonly first: string;
      /** The deadline of the run, which a new chapter does not change. */
      readonly deadline?: number;
      readonly budgets?: readonly TreeBudget[];
      /** What people have added to each budget of the run, in the order of the code. */
      readonly raised?: readonly number[];
      /** The head of the run so far. */
      readonly head: {
        readonly createdAt: number;
        readonly steps: number;
        readonly label: string | null;
        readonly parent: string | null;
        readonly ancestors: readonly string[];
        readonly readsFrom?: readonly number[];
        readonly tags?: Readonly<Record<string, string>>;
        readonly usage?: readonly UsageRow[];
        readonly inherited?: readonly UsageRow[];
        readonly scope?: string;
        readonly scores?: Readonly<Record<string, number>>;
      };
      /** Messages that the chapter before has not read, and ids of those that it was sent. See mailbox.ts. */
      readonly messages?: V;
      /** The last report of the run. */
      readonly report?: V;
      readonly flow?: RunFlow;
    } & Leftovers)
  | {
      readonly kind: "run.forked";
      readonly runId: string;
      readonly nonce: string;
      readonly workflow: string;
      readonly version: string | null;
      readonly parent: string;
      readonly label: string | null;
      /** The tags that the parent had at that time. */
      readonly tags?: Readonly<Record<string, string>>;
      readonly scope?: string;
      readonly ancestry: readonly Ancestor[];
      /** The entries of the fork are numbered from here on. */
      readonly base: number;
      readonly edits: readonly Edit<V>[];
      /** Where the fork went back to. */
      readonly cuts?: readonly Cut[];
      /** Missing when the parent's input is kept. */
      readonly input?: V;
      /** System prompts that calls of models ask with, by those that the code gives. */
      readonly prompts?: V;
      readonly flow?: RunFlow;
      /** The fork has a deadline of its own. */
      readonly deadline?: number;
      /** The code was changed: it need not ask for what is inherited. */
      readonly changes?: "allow";
      /** The eval that made the fork: only calls of models run in it. */
      readonly eval?: string;
    }
  /** Written before the work begins, and only for steps with `onUncertain` or `compensate`. Attempt 0 calls it off. */
  | ({
      readonly kind: "step.started";
      readonly attempt: number;
      readonly input?: string;
      /** The step is undone when the run fails or is cancelled. */
      readonly compensate?: true;
    } & Called)
  /** What an attempt that is under way has reached. The next attempt gets the last one. */
  | ({ readonly kind: "step.progress"; readonly attempt: number; readonly value: V } & Called)
  | ({ readonly kind: "step.completed"; readonly value: V } & Attempted<V>)
  | ({ readonly kind: "step.failed"; readonly error: V } & Attempted<V>)
  | ({
      readonly kind: "attempt.failed";
      readonly error: V;
      readonly retryAt: number;
      /** Set when it was an attempt of a stream. */
      readonly stream?: true;
    } & Attempted<V>)
  /** Some chunks of one attempt: `from` is the index of the first; indices have no gaps. */
  | ({
      readonly kind: "stream.chunks";
      readonly attempt: number;
      readonly from: number;
      readonly chunks: readonly V[];
    } & Called)
  /** `value` is present in a fork that replaced the chunks. */
  | ({
      readonly kind: "stream.completed";
      readonly count: number;
      readonly value?: V;
      /** When the first chunk came. */
      readonly firstAt?: number;
    } & Attempted<V>)
  | ({ readonly kind: "stream.failed"; readonly error: V } & Attempted<V>)
  | ({
      readonly kind: "child.opened";
      readonly child: string;
      readonly workflow: string;
      readonly input: string;
    } & Called)
  | ({ readonly kind: "child.completed"; readonly value: V } & Called)
  | ({ readonly kind: "child.failed"; readonly error: V } & Called)
  | ({ readonly kind: "child.closed" } & Called)
  /** Written before the spawned run exists. */
  | ({
      readonly kind: "spawn.opened";
      readonly child: string;
      readonly workflow: string;
      readonly input: string;
      readonly onParentEnd?: "cancel";
    } & Called)
  /** The spawned run is recorded. */
  | ({ readonly kind: "spawn.started"; readonly child: string } & Called)
  | ({ readonly kind: "spawn.failed"; readonly error: V } & Called)
  /** Changes tags of the run; `null` removes one. */
  | ({ readonly kind: "tag.set"; readonly tags: Readonly<Record<string, string | null>> } & Called)
  | ({ readonly kind: "sleep.opened"; readonly until: number; readonly input: string } & Called)
  | ({ readonly kind: "sleep.fired" } & Called)
  | ({
      readonly kind: "suspend.opened";
      readonly wait: string;
      readonly note: V;
      readonly schema: unknown;
      readonly expiresAt: number | null;
      /** Answers are checked, by a schema that has no JSON Schema. */
      readonly checked?: true;
      /** The call came after the code awaited something other than ctx, so replay may need time to reach it. */
      readonly foreign?: true;
      /** It waits for a message of this topic, and not for an answer by token. */
      readonly topic?: string;
    } & Called)
  | {
      readonly kind: "suspend.answered";
      readonly wait: string;
      readonly value: V;
      readonly answerId?: string;
      /** The value is an error, and the wait fails with it. */
      readonly rejects?: true;
    }
  | ({
      readonly kind: "suspend.resolved";
      readonly wait: string;
      /** Missing when `answer` is the position of the answer or message that holds it. */
      readonly value?: V;
      readonly answer?: number;
      readonly answerId?: string;
      readonly rejects?: true;
    } & Called)
  | ({
      readonly kind: "suspend.rejected";
      readonly wait: string;
      readonly answer: number;
      readonly issues: V;
    } & Called)
  | ({ readonly kind: "suspend.expired"; readonly wait: string; readonly value?: V } & Called)
  | ({ readonly kind: "suspend.closed"; readonly wait: string } & Called)
  /** A message from outside. It is unread until an entry names it as its `answer`. */
  | { readonly kind: "message.sent"; readonly topic: string; readonly value: V; readonly id?: string }
  /** What others can see of the run. */
  | ({ readonly kind: "report.set"; readonly value: V } & Called)
  | ({
      readonly kind: "parallel.opened" | "race.opened";
      readonly branches: readonly string[] | number;
    } & Called)
  /** A function of `ctx.onCancel` is registered; `started` and the outcome are written after a cancel. */
  | ({ readonly kind: "cleanup.opened" | "cleanup.started" | "cleanup.completed" } & Called)
  | ({ readonly kind: "cleanup.failed"; readonly error: V } & Called)
  /** `look` is when open children are checked, if none of them has reported its end before. */
  | { readonly kind: "run.suspended"; readonly wakeAt: number | null; readonly look?: number }
  | ({ readonly kind: "run.completed"; readonly output: V } & Leftovers)
  | ({ readonly kind: "run.failed"; readonly error: V } & Leftovers)
  /** Until it is unpaused, the run is not driven. */
  | { readonly kind: "run.paused"; readonly reason: V | null }
  | { readonly kind: "run.unpaused" }
  /** Takes back the failure of the run, and of the calls that caused it. */
  | {
      readonly kind: "run.retried";
      /** The calls whose failure is taken back; missing when the code itself failed. */
      readonly failed?: readonly string[];
      /** The new deadline of the run; `null` removes it, and without the field it stays. */
      readonly deadline?: number | null;
      /** The code was changed: it need not ask for what was recorded before. */
      readonly changes?: "allow";
    }
  /**
   * The storage has lost batches that a driver had seen: there were `from`, and `to` were left. Where the starts of `steps` were
   * lost, they follow in the same batch, so that their outcome is asked for.
   */
  | {
      readonly kind: "run.regressed";
      readonly from: number;
      readonly to: number;
      readonly steps: readonly string[];
    }
  /** A score from outside, also after the end: the last of each name counts. `null` removes it. */
  | {
      readonly kind: "run.scored";
      readonly name: string;
      readonly score: number | null;
      readonly note?: V;
    }
  /** The code has failed, and what it began is undone before `run.failed`. The code sees no later entry. */
  | ({ readonly kind: "run.failing"; readonly error: V } & Leftovers)
  /**
   * The run is cancelled, and cleans up before `run.cancelled`. The code sees no later entry. `unneeded`: the run above has
   * ended or does not need it, and gets no report; the position of the last retry of that run, 0 without one.
   */
  | {
      readonly kind: "run.cancelling";
      readonly reason: V | null;
      readonly unneeded?: number;
    }
  | {
      readonly kind: "run.cancelled";
      readonly reason: V | null;
      readonly unneeded?: number;
      /** Why the clean-up failed. */
      readonly error?: V;
      readonly uncompensated?: readonly string[];
    };

/** What was left when the workflow function had settled: keys of calls. */
export interface Leftovers {
  /** Recorded results that the code did not use, but for those about words of a stream that no longer exist. */
  readonly orphans?: readonly string[];
  /** Work that was still running after the time of `linger`. Its result is dropped. */
  readonly abandoned?: readonly string[];
  /** Calls that failed, and whose failure the code never observed. */
  readonly unawaited?: readonly string[];
  /** Steps whose compensation failed, so that they are not undone. */
  readonly uncompensated?: readonly string[];
}

/** The name of a fact: `step.completed`, `suspend.opened`, and so on. */
export type FactKind = Fact<unknown>["kind"];

/** The kinds of calls that a workflow makes. */
export type CallKind =
  | "step"
  | "sleep"
  | "suspend"
  | "parallel"
  | "race"
  | "stream"
  | "child"
  | "spawn"
  | "tag"
  | "cleanup"
  | "report";

/** A fact with its position and time in a journal. */
export type Entry<V = Json> = Fact<V> & {
  readonly at: number;
  readonly seq: number;
  /** True when it was not written by the driver of the run: an answer, a cancellation, the end of a child. */
  readonly outside: boolean;
  /** The position of the `run.retried` that struck it. Not stored; only `run.entries({ struck: true })` has such entries. */
  readonly struck?: number;
};
