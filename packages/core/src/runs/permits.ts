/**
 * Permits of calls: requests, tokens, cost and calls at the same time, counted over all processes on a storage.
 *
 * permits.1. A call that waits has no permit, does not count as an attempt, and writes nothing to its journal; but if it
 *     waits for more than minutes, its run parks, as it does for a sleep.
 * permits.2. A permit for calls at the same time has an end that its process moves on. So a process that dies frees it.
 *     One that was granted so long ago that it may have ended is moved on before the call begins.
 * permits.3. Tokens and cost are reserved by an estimate before the call and corrected afterwards by what the call metered.
 *     Where the estimate is lower than what calls used lately, that is reserved.
 * permits.4. A permit is free at the end of its call, or at once if the step does not need it any more. A renewal that is
 *     on its way then does not take it again.
 * permits.5. Once a service has said that it has too many requests, no process gets a permit before the time has passed for
 *     which it asked to be left alone.
 */

import { slowedBy } from "../engine/calls/retry.ts";
import type {
  Estimate,
  Permit,
  PermitRequest,
  QuotaOptions,
  QuotaRun,
  StepQuota,
} from "../engine/definition.ts";
import { costOfAll, knownCost, type Usage } from "../values/usage.ts";
import { pause } from "../ports/world.ts";
import { toMs } from "../values/duration.ts";
import { DurableError, show } from "../values/errors.ts";
import { assertOptions } from "../values/options.ts";
import { parsed } from "../values/shown.ts";
import type { Host } from "./host.ts";
import { keyOf } from "./rate.ts";
import { damagedText, isNumbers, TextStore, Window, type WindowState } from "./window.ts";

interface State {
  window: WindowState;
  /** Calls that are under way, each until when it counts. */
  calls: Record<string, number>;
  /** Tokens and cost that calls used lately, on average. */
  means: [tokens: number, cost: number];
  /** Until when the service asked to be left alone. */
  rest: number;
}

/** What a call uses of a quota. */
type Amounts = [requests: number, tokens: number, cost: number];

/** The shortest and the longest pause between two requests of a step that waits. */
const [shortestMs, longestMs] = [20, 250];

/** A wait that is longer, and longer than the patience of the app, parks the run. */
const parkMs = 300_000;

/** Waits for a permit, or tells how long that would take, so that the run can be parked. */
export async function permitOf(host: Host, request: PermitRequest): Promise<Permit | number | null> {
  const { isOver, stays } = request;
  const use = new QuotaUse(host, request, new TextStore(await host.storage(), host.world));
  // Calls of this process ask one after the other, so that they come in the order in which they were made.
  return host.inTurn(use.name, async () => {
    for (let ms = shortestMs; !isOver(); ms = Math.min(2 * ms, longestMs)) {
      const taken = await use.take();
      if (typeof taken === "number") {
        if (stays !== true && taken > Math.max(host.patienceMs, parkMs)) return taken;
        await pause(host.world, Math.min(Math.max(taken, 1), ms));
      } else if (!isOver()) return taken;
      // It would be free only after its time.
      else await taken.giveBack().catch(() => {});
    }
    return null;
  });
}

function checkedQuota(
  { quotas }: Host,
  quota: StepQuota,
  where: string,
): { readonly name: string; readonly tokens: number | undefined; readonly options: QuotaOptions } {
  const { name, tokens } = typeof quota === "string" ? { name: quota, tokens: undefined } : quota;
  if (typeof quota !== "string") assertOptions(quota, "name tokens", `The quota of ${where}`);
  const options = Object.hasOwn(quotas, name) ? quotas[name] : undefined;
  if (options === undefined) {
    const known = Object.keys(quotas).map(show).join(", ") || "none";
    throw new DurableError(
      "invalid-options",
      `The ${where} has the quota ${show(name)}, which is not declared. Add it to createApp({ quotas }). Declared: ${known}.`,
    );
  }
  assertOptions(options, "requests tokens cost per concurrent key", `The quota ${show(name)}`);
  for (const [what, most] of Object.entries(options))
    if (
      what !== "per" &&
      what !== "key" &&
      most !== undefined &&
      !(Number(most) >= (what === "cost" ? 0 : 1))
    )
      throw new DurableError(
        "invalid-options",
        `The quota ${show(name)} has ${what}: ${show(most)}. Use a number from ${what === "cost" ? 0 : 1} on.`,
      );
  if (tokens === undefined || (Number.isFinite(tokens) && tokens >= 0)) return { name, tokens, options };
  throw new DurableError(
    "invalid-options",
    `The ${where} reserves ${show(tokens)} tokens. Use a number from 0 on.`,
  );
}

/** The name of the text of a quota, of this key. */
function textOf(name: string, { key }: QuotaOptions, run: QuotaRun): string {
  const found: unknown = typeof key === "function" ? key(run) : key;
  if (found === undefined) return `quota ${name}`;
  // A key that a tenant chooses must not be the end of the name of another quota.
  return `quota ${JSON.stringify([name, keyOf(found as string, null, `The quota ${show(name)}`)])}`;
}

/** One quota, as one call uses it. */
class QuotaUse {
  readonly #host: Host;
  /** The name of its text. */
  readonly name: string;
  readonly #store: TextStore;
  readonly #options: QuotaOptions;
  readonly #window: Window;
  /** Names the permit. */
  readonly #id: string;
  /** What the caller expects to use. */
  readonly #expected: readonly [tokens: number, cost: number];
  /** Tokens that the caller reserves, whatever calls used lately. */
  readonly #tokens: number | undefined;
  /** What was reserved, and when. */
  #reserved: { readonly at: number; readonly amounts: Amounts } = { at: 0, amounts: [0, 0, 0] };

  constructor(host: Host, { quota, run, where, estimate }: PermitRequest, store: TextStore) {
    this.#host = host;
    const { name, tokens, options } = checkedQuota(host, quota, where);
    this.name = textOf(name, options, run);
    this.#id = host.world.id();
    this.#store = store;
    this.#options = options;
    this.#tokens = tokens;
    this.#expected = expected(host, options, estimate, `The ${where}`);
    const perMs = Math.max(1, toMs(options.per ?? 60_000, `The quota ${show(name)}: per`));
    const { requests, tokens: most, cost } = options;
    this.#window = new Window(perMs, [requests ?? Infinity, most ?? Infinity, cost ?? Infinity]);
  }

  /** A permit, or in how many milliseconds there may be one. */
  async take(): Promise<Permit | number> {
    const { world, leaseMs } = this.#host;
    const { concurrent = Infinity } = this.#options;
    const id = this.#id;
    const from = world.now();
    const wait = await this.#change((state, now) => {
      const amounts = this.#amounts(state);
      // It may have been taken by a request whose reply got lost or came late.
      const isNew = state.calls[id] === undefined;
      if (isNew && state.rest > now) return state.rest - now;
      if (isNew && Object.keys(state.calls).length >= concurrent) return longestMs;
      if (isNew && !this.#window.take(state.window, now, amounts))
        return this.#window.wait(state.window, now, amounts);
      if (isNew) this.#reserved = { at: now, amounts };
      if (concurrent < Infinity) state.calls[id] = now + leaseMs;
      return 0;
    });
    const isLate = concurrent < Infinity && world.now() - from > leaseMs / 2;
    return wait > 0 || isLate ? wait : this.#permit();
  }

  /** What is reserved: 0 of what the quota does not limit. */
  #amounts({ means }: State): Amounts {
    const [tokens, cost] = this.#expected.map((most, n) => Math.max(most, means[n] ?? 0)) as [number, number];
    const { tokens: hasTokens, cost: hasCost } = this.#options;
    return [1, hasTokens === undefined ? 0 : (this.#tokens ?? tokens), hasCost === undefined ? 0 : cost];
  }

  #permit(): Permit {
    const { concurrent, tokens, cost } = this.#options;
    const stop = concurrent === undefined ? () => {} : this.#keep();
    const { at, amounts } = this.#reserved;
    return {
      settle: async (usage, thrown) => {
        stop();
        const isCounted = usage !== undefined && (tokens ?? cost) !== undefined;
        const slowMs = slowedBy(thrown, this.#host.world.now());
        if (concurrent === undefined && !isCounted && slowMs === null) return;
        await this.#change((state, now, mayBeDone) => {
          delete state.calls[this.#id];
          if (slowMs !== null) state.rest = Math.max(state.rest, now + slowMs);
          if (usage === undefined) return 0;
          // An unknown cost counts as it was reserved.
          const used = [tokensOf(usage), costOfAll(usage) ?? amounts[2]] as const;
          state.means = state.means.map((mean, n) => mixed(mean, used[n] as number)) as State["means"];
          const more = used
            .map((amount, n) => amount - (amounts[n + 1] as number))
            .map((amount) => (mayBeDone ? Math.max(0, amount) : amount));
          this.#window.correct(state.window, now, at, [0, ...more]);
          return 0;
        });
      },
      giveBack: async () => {
        stop();
        await this.#change((state, now, mayBeDone) => {
          delete state.calls[this.#id];
          const back = amounts.map((amount) => -amount);
          if (!mayBeDone) this.#window.correct(state.window, now, at, back);
          return 0;
        });
      },
    };
  }

  /** Moves the end of a permit on while its call is under way; returns a function that stops it. */
  #keep(): () => void {
    const { world, leaseMs } = this.#host;
    let cancel: (() => void) | undefined;
    let isSettled = false;
    const again = (): void => {
      cancel = world.timer(leaseMs / 3, () => {
        again();
        // If it cannot be moved now, the next attempt comes before it ends.
        this.#change((state, now) => {
          if (isSettled) return 1;
          state.calls[this.#id] = now + leaseMs;
          return 0;
        }).catch(() => {});
      });
    };
    again();
    return () => {
      isSettled = true;
      cancel?.();
    };
  }

  /** `change` returns 0 when the new state is to be kept. */
  #change(change: (state: State, now: number, mayBeDone: boolean) => number): Promise<number> {
    return this.#store.update(this.name, (text, now, mayBeDone) => {
      const [window, calls, means, rest] = quotaIn(text);
      const live = Object.entries(calls).filter(([, until]) => until > now);
      const state = { window: this.#window.read(window), calls: Object.fromEntries(live), means, rest };
      const wait = change(state, now, mayBeDone);
      // Calls under way, and the time that a service asked for, may outlast the window.
      const keepMs =
        this.#window.keepMs(state.window, now) + this.#host.leaseMs + Math.max(0, state.rest - now);
      if (wait > 0) return { wait, keepMs };
      const kept = [this.#window.text(state.window), state.calls, state.means, state.rest];
      return { wait, keepMs, text: JSON.stringify(kept) };
    });
  }
}

type QuotaText = [window: string | null, calls: State["calls"], means: State["means"], rest: number];

/** The text that `#change` has written; `corrupt` for any other. The window in it is checked where it is read. */
function quotaIn(text: string | null): QuotaText {
  const found = parsed(text ?? "[null,{},[0,0],0]");
  const [window, calls, means, rest] = Array.isArray(found) ? (found as readonly unknown[]) : [];
  const isQuota =
    (window === null || typeof window === "string") &&
    typeof calls === "object" &&
    calls !== null &&
    isNumbers([...Object.values(calls), rest]) &&
    isNumbers(means);
  if (!isQuota) throw damagedText();
  return found as QuotaText;
}

/** The mean of the last few calls: a new one counts a fifth. */
function mixed(mean: number, used: number): number {
  return mean === 0 ? used : 0.8 * mean + 0.2 * used;
}

/** The tokens and the cost that a call expects to use. */
function expected(
  host: Host,
  { cost }: QuotaOptions,
  estimate: Estimate | undefined,
  where: string,
): readonly [tokens: number, cost: number] {
  if (estimate === undefined) return [0, 0];
  const usage = typeof estimate === "function" ? estimate() : estimate;
  return [tokensOf([usage]), cost === undefined ? 0 : knownCost(usage, host.options.prices, where)];
}

function tokensOf(usage: readonly Usage[]): number {
  return usage.reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens + outputTokens, 0);
}
