/**
 * A wait for an answer, or for a message, from outside.
 *
 * suspend.1. The token exists before the wait is opened, so it can be sent first and awaited later.
 * suspend.2. An answer that was not validated (delivered without code, or early) is validated here, and the
 *     verdict is an entry of its own, so replay never validates again.
 * suspend.3. An invalid answer is recorded and leaves the wait open. Answers are validated in the order in which they
 *     were recorded, and the first valid one settles the wait.
 * suspend.4. Receives take the messages of their topic in the order in which these were recorded, each message once. A
 *     message whose receive is closed before the verdict is durable is taken by the next one.
 * suspend.5. A timeout that is not durable yet loses to an answer or message that was recorded before it.
 */

import { decode } from "../../values/codec/decode.ts";
import { encode } from "../../values/codec/encode.ts";
import type { Json } from "../../values/codec/tags.ts";
import { toMs, type Duration } from "../../values/duration.ts";
import { DurableError, recordedError } from "../../values/errors.ts";
import { corrupt } from "../../journal/batch.ts";
import type { Fact } from "../../journal/entry.ts";
import type { WaitState } from "../../journal/waits.ts";
import { waitOf } from "../../journal/keys.ts";
import type { Message } from "../../journal/mailbox.ts";
import { limits } from "../../values/limits.ts";
import { scrub } from "../../values/scrub.ts";
import { fits, toJsonSchema, type StandardSchema } from "../../values/schema.ts";
import { KeyedCall, type CallEngine, type CallParts } from "./call.ts";
import { assertOptions } from "../../values/options.ts";
import { pending } from "../promise.ts";
import type { Settlement } from "../replay.ts";
import type { Scope } from "../scope.ts";

export interface SuspendOptions {
  /** Checks, and may transform, the answer. */
  readonly schema?: StandardSchema | undefined;
  /** How long to wait. The deadline is recorded when the wait opens. */
  readonly timeout?: Duration | undefined;
  /** The value of the wait after the timeout, `undefined` included; if left out, the wait fails with `suspend-expired`. */
  readonly fallback?: unknown;
  /** Data for the person or program that answers. */
  readonly note?: unknown;
  /**
   * The name of the suspend point in an earlier version of the code: its token and its answer are kept. `null` says that
   * it is new, and comes before the one that is open.
   */
  readonly was?: string | null | undefined;
}

/** The promise of a suspend point. It has the token that answers it. */
export type SuspendPromise<T> = Promise<T> & { readonly token: string; readonly key: string };

/** The scope and name of a suspend point; `own` when the engine makes the call, not the workflow. */
interface SuspendPlace {
  readonly scope: Scope;
  readonly name: string;
  readonly own?: true;
  /** Waits for a message of the topic `name`. It has no token, so it needs no secret. */
  readonly receives?: true;
}

/** Options of `ctx.receive`. */
export type ReceiveOptions = Pick<SuspendOptions, "schema" | "timeout" | "fallback">;

export function suspend(
  engine: CallEngine,
  place: SuspendPlace,
  options: SuspendOptions,
): SuspendPromise<unknown> {
  const { scope, name, own, receives } = place;
  const keyring = receives ? null : engine.options.keyring;
  const where = `suspend point "${name}" of run ${engine.journal.runId}`;
  assertOptions(options, `schema timeout fallback${receives ? "" : " note was"}`, `The ${where}`);
  const timeoutMs = options.timeout === undefined ? null : toMs(options.timeout, `The timeout of ${where}`);
  const note = encode(options.note ?? null, `note of ${where}`, limits.noteBytes);
  const fallback = "fallback" in options ? { value: encode(options.fallback, `fallback of ${where}`) } : {};
  if (keyring instanceof DurableError) engine.block(keyring);
  const input = receives ? name : null;
  const asked = { scope, name, kind: "suspend", input, was: options.was } as const;
  const entered = engine.enter(own ? { ...asked, own } : asked);
  if (entered === null || keyring instanceof DurableError)
    return Object.assign(pending(), { token: "", key: name });
  const call = new SuspendCall(engine, "suspend", {
    scope,
    name,
    entered,
    timeoutMs,
    note,
    fallback,
    schema: options.schema,
    topic: receives && name,
  });
  engine.calls.addWait(call, call.wait);
  call.closeWithScope();
  if (keyring === null) return Object.assign(call.promise, { token: "", key: call.key });
  return withToken(call, () => keyring.sign(engine.journal.locator, call.wait));
}

/** The token is signed on first read, so that replay does not pay for the hash. */
function withToken(call: SuspendCall, sign: () => string): SuspendPromise<unknown> {
  let token: string | null = null;
  const properties = {
    token: { get: () => (token ??= sign()), enumerable: true },
    key: { value: call.key, enumerable: true },
  };
  return Object.defineProperties<Promise<unknown>>(call.promise, properties) as SuspendPromise<unknown>;
}

interface SuspendParts extends CallParts {
  readonly timeoutMs: number | null;
  readonly note: Json;
  readonly fallback: { readonly value?: Json };
  readonly schema: StandardSchema | undefined;
  /** It waits for messages. */
  readonly topic: string | undefined;
}

type Answer = WaitState["answers"][number] | Message;
/** The fields of the entry that accepts an answer, or why it is refused. */
type Verdict = { readonly value?: Json; readonly rejects?: true } | string;

export class SuspendCall extends KeyedCall<SuspendParts, unknown> {
  readonly wait = waitOf(this.key, this.engine.journal.nonce);
  #begun = false;
  /** The answer that is being checked. */
  #judging: Answer | null = null;
  /** The position of the last answer that was checked. Its verdict may not be durable yet. */
  #judged = 0;
  /** A valid answer is queued. */
  #won = false;
  /** The message that it got, and the queued fact that says so. */
  #got: { readonly message: Message; readonly fact: Fact<Json> } | null = null;
  /** Its timeout is queued; it takes effect if no earlier answer is valid. */
  #late: Fact<Json> | null = null;

  get topic(): string | undefined {
    return this.parts.topic;
  }

  get note(): Json {
    return this.parts.note;
  }

  get #called(): { key: string; after: number; wait: string } {
    return { key: this.key, after: this.after, wait: this.wait };
  }

  protected answer(settlement: Settlement): void {
    // An answer to another wait is not taken for one to this.
    if ((settlement as { readonly wait?: string }).wait !== this.wait)
      throw corrupt(`The end of ${this.where}`);
    if (settlement.kind === "suspend.resolved") {
      const value = decode(this.engine.replay.answer(settlement, this.topic), `answer to ${this.where}`);
      if (settlement.rejects === true) this.reject(value);
      else this.outcome.resolve(value);
    } else if (settlement.kind === "suspend.expired" && settlement.value !== undefined) {
      this.outcome.resolve(decode(settlement.value, `fallback of ${this.where}`));
    } else {
      this.reject(this.#expired(settlement.seq));
    }
  }

  begin(): void {
    if (this.engine.finished) return;
    this.#begun = true;
    this.recheck();
    if (this.#judging === null) this.#await();
  }

  /** Waits for an answer, until the recorded deadline if there is one. */
  #await(): void {
    const { opened, settled } = this.engine.journal.state.wait(this.wait);
    const until = opened === null || settled === "closed" ? this.#open() : opened.expiresAt;
    if (this.#late === null) this.engine.timers.wait(this, until);
  }

  /** Opens the wait; other processes see it once the entry is durable. */
  #open(): number | null {
    const { timeoutMs, note } = this.parts;
    if (this.engine.timers.waiting >= limits.openWaits) {
      this.engine.block(
        new DurableError(
          "limit",
          `The ${this.where} exceeds the limit of ${limits.openWaits} open waits. Split the run.`,
        ),
      );
      return null;
    }
    const expiresAt = timeoutMs === null ? null : this.engine.world.now() + timeoutMs;
    const schema = toJsonSchema(this.parts.schema);
    const { topic } = this;
    const about = {
      ...(schema === null && this.parts.schema !== undefined ? { checked: true as const } : {}),
      ...(this.parts.entered.foreign ? { foreign: true as const } : {}),
      ...(topic === undefined ? {} : { topic }),
    };
    this.engine.write({ kind: "suspend.opened", ...this.#called, note, schema, expiresAt, ...about });
    return expiresAt;
  }

  /** Validates the first recorded answer that has no verdict yet, or the next message. */
  recheck(): void {
    if (!this.#begun || this.#judging !== null || this.#got !== null || this.#won || this.scope.closed)
      return;
    const answer = this.#next();
    if (answer === null) return;
    this.#judging = answer;
    this.engine.timers.cancel(this);
    this.engine.verdicts.judge(
      answer.seq,
      this.judge(answer).then((found) => () => this.#conclude(answer, found)),
    );
  }

  #next(): Answer | null {
    const { journal, calls } = this.engine;
    const { answers } = journal.state.wait(this.wait);
    const { topic, record } = this;
    const answer = answers.find(({ seq }) => seq > this.#judged) ?? null;
    if (answer !== null || topic === undefined || record?.settled === true) return answer;
    return calls.take(topic, journal.state.mailbox);
  }

  /** The verdict on a recorded answer. A check that throws refuses it. */
  judge(answer: Answer): Promise<Verdict> {
    return this.#verdictOn(answer).catch(whyInvalid);
  }

  async #verdictOn(answer: Answer): Promise<Verdict> {
    // A failure is not checked.
    if ("rejects" in answer) return { rejects: true };
    if (this.parts.schema === undefined) return {};
    const verdict = await this.check(decode(answer.value, `answer to ${this.where}`));
    // A message that the schema does not change is not recorded twice.
    const isSame =
      typeof verdict === "object" &&
      "topic" in answer &&
      JSON.stringify(verdict.value) === JSON.stringify(answer.value);
    return isSame ? {} : verdict;
  }

  #conclude(answer: Answer, verdict: Verdict): void {
    this.#judging = null;
    // Messages that came with the chapter have negative positions.
    if (answer.kind === "suspend.answered") this.#judged = answer.seq;
    const about = { ...this.#called, answer: answer.seq };
    if (typeof verdict === "string") {
      this.engine.write({ kind: "suspend.rejected", ...about, issues: verdict });
      this.recheck();
      if (this.#judging === null) this.#await();
      return;
    }
    const fact = { kind: "suspend.resolved", ...about, ...verdict } as const;
    if (this.#late !== null) this.engine.withdraw(this.#late);
    if (answer.kind === "message.sent") this.#got = { message: answer, fact };
    else this.#won = true;
    this.engine.write(fact);
  }

  async check(value: unknown): Promise<{ readonly value: Json } | string> {
    const result = await fits(this.parts.schema, value);
    if (!result.ok) return result.issues;
    return { value: encode(result.value, `answer to ${this.where}`) };
  }

  due(): void {
    this.#late = { kind: "suspend.expired", ...this.#called, ...this.parts.fallback };
    this.engine.write(this.#late);
  }

  /** When its branch loses a race, the wait is closed and its token is no longer accepted. */
  closeWithScope(): void {
    this.whenClosed(() => this.#close());
  }

  #close(): void {
    this.engine.timers.cancel(this);
    if (this.#judging !== null) this.engine.verdicts.drop(this.#judging.seq);
    const { opened, settled } = this.engine.journal.state.wait(this.wait);
    if (settled !== null || (opened === null && !this.#begun)) return;
    for (const fact of [this.#got?.fact, this.#late]) if (fact) this.engine.withdraw(fact);
    this.engine.write({ kind: "suspend.closed", ...this.#called, after: this.engine.replay.delivered });
    const message = this.#got?.message ?? this.#judging;
    if (message?.kind === "message.sent") this.engine.calls.putBack(message);
  }

  giveBack(after: number): number | null {
    const message = this.#got?.message ?? this.#judging;
    if (message?.kind !== "message.sent" || message.seq <= after || this.scope.closed) return null;
    if (this.engine.journal.state.wait(this.wait).settled !== null) return null;
    if (this.#got !== null) this.engine.withdraw(this.#got.fact);
    this.engine.verdicts.drop(message.seq);
    this.#got = this.#judging = null;
    return message.seq;
  }

  #expired(seq: number): DurableError {
    const method = this.topic === undefined ? "suspend" : "receive";
    return recordedError(
      "suspend-expired",
      `The suspend point "${this.key}" of run ${this.engine.journal.runAt(seq)} expired without an answer. Catch this error, or give ctx.${method} a fallback.`,
      { details: { key: this.key } },
    );
  }
}

function whyInvalid(error: unknown): string {
  return scrub(error instanceof Error ? error.message : String(error));
}
