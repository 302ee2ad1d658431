/**
 * Permits of steps: requests, tokens and calls at the same time, counted over all processes on a storage.
 *
 * permits.1. A step that waits has no permit, does not count as an attempt, and writes nothing to its journal.
 * permits.2. A permit for calls at the same time has an end that its process moves on. So a process that dies frees it.
 *     One that was granted so long ago that it may have ended is moved on before the call begins.
 * permits.3. Tokens are reserved by an estimate before the call and corrected afterwards by what the call metered.
 * permits.4. A permit is free at the end of its call, or at once if the step does not need it any more. A renewal that is
 *     on its way then does not take it again.
 */

import type { QuotaOptions, Permit, StepQuota } from "../engine/definition.ts";
import type { Usage } from "../values/usage.ts";
import { pause } from "../ports/world.ts";
import { toMs } from "../values/duration.ts";
import { DurableError, show } from "../values/errors.ts";
import { assertOptions } from "../values/options.ts";
import type { Host } from "./host.ts";
import { TextStore, Window, type WindowState } from "./window.ts";

interface State {
  window: WindowState;
  /** Calls that are under way, each until when it counts. */
  calls: Record<string, number>;
  /** Tokens that calls used lately, on average. */
  mean: number;
}

interface TakenPermit extends Permit {
  /** There is no call after all. */
  giveBack(): Promise<void>;
}

/** The shortest and the longest pause between two requests of a step that waits. */
const [shortestMs, longestMs] = [20, 250];

/** Waits for the permit of a step; `null` once it need not wait any longer. */
export async function permitOf(
  host: Host,
  quota: StepQuota,
  where: string,
  isOver: () => boolean,
): Promise<Permit | null> {
  const { name, tokens } = checkedQuota(host, quota, where);
  const use = new QuotaUse(host, name, new TextStore(await host.storage(), host.world));
  // Steps of this process ask one after the other, so that they come in the order in which they were called.
  return host.inTurn(`quota ${name}`, async () => {
    for (let ms = shortestMs; !isOver(); ms = Math.min(2 * ms, longestMs)) {
      const taken = await use.take(tokens);
      if (typeof taken === "number") await pause(host.world, Math.min(Math.max(taken, 1), ms));
      else if (!isOver()) return taken;
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
): { readonly name: string; readonly tokens: number | undefined } {
  const { name, tokens } = typeof quota === "string" ? { name: quota, tokens: undefined } : quota;
  if (typeof quota !== "string") assertOptions(quota, "name tokens", `The quota of ${where}`);
  if (!Object.hasOwn(quotas, name)) {
    const known = Object.keys(quotas).map(show).join(", ") || "none";
    throw new DurableError(
      "invalid-options",
      `The ${where} has the quota ${show(name)}, which is not declared. Add it to createApp({ quotas }). Declared: ${known}.`,
    );
  }
  if (tokens === undefined || (Number.isFinite(tokens) && tokens >= 0)) return { name, tokens };
  throw new DurableError(
    "invalid-options",
    `The ${where} reserves ${show(tokens)} tokens. Use a number from 0 on.`,
  );
}

/** One quota, as one step uses it. */
class QuotaUse {
  readonly #host: Host;
  readonly #name: string;
  readonly #store: TextStore;
  readonly #options: QuotaOptions;
  readonly #window: Window;
  /** Names the permit. */
  readonly #id: string;
  /** What was reserved, and when. */
  #reserved = { at: 0, tokens: 0 };

  constructor(host: Host, name: string, store: TextStore) {
    this.#host = host;
    this.#name = name;
    this.#id = host.world.id();
    this.#store = store;
    const options = host.quotas[name] ?? {};
    assertOptions(options, "requests tokens per concurrent", `The quota ${show(name)}`);
    for (const [what, most] of Object.entries(options))
      if (what !== "per" && most !== undefined && !(Number(most) >= 1))
        throw new DurableError(
          "invalid-options",
          `The quota ${show(name)} has ${what}: ${show(most)}. Use a number from 1 on.`,
        );
    this.#options = options;
    const perMs = Math.max(1, toMs(options.per ?? 60_000, `The quota ${show(name)}: per`));
    this.#window = new Window(perMs, [options.requests ?? Infinity, options.tokens ?? Infinity]);
  }

  /** A permit, or in how many milliseconds there may be one. */
  async take(tokens: number | undefined): Promise<TakenPermit | number> {
    const { world, leaseMs } = this.#host;
    const { concurrent = Infinity } = this.#options;
    const id = this.#id;
    const from = world.now();
    const wait = await this.#change((state, now) => {
      const reserved = this.#options.tokens === undefined ? 0 : (tokens ?? state.mean);
      // It may have been taken by a request whose reply got lost or came late.
      const isNew = state.calls[id] === undefined;
      if (isNew && Object.keys(state.calls).length >= concurrent) return longestMs;
      if (isNew && !this.#window.take(state.window, now, [1, reserved]))
        return this.#window.wait(state.window, now, [1, reserved]);
      if (isNew) this.#reserved = { at: now, tokens: reserved };
      if (concurrent < Infinity) state.calls[id] = now + leaseMs;
      return 0;
    });
    const isLate = concurrent < Infinity && world.now() - from > leaseMs / 2;
    return wait > 0 || isLate ? wait : this.#permit();
  }

  #permit(): TakenPermit {
    const { concurrent, tokens } = this.#options;
    const stop = concurrent === undefined ? () => {} : this.#keep();
    const { at, tokens: reserved } = this.#reserved;
    return {
      settle: async (usage) => {
        stop();
        if (concurrent === undefined && (tokens === undefined || usage === undefined)) return;
        await this.#change((state, now) => {
          delete state.calls[this.#id];
          if (usage === undefined) return 0;
          const used = tokensOf(usage);
          state.mean = state.mean === 0 ? used : Math.round(0.8 * state.mean + 0.2 * used);
          this.#window.correct(state.window, now, at, [0, used - reserved]);
          return 0;
        });
      },
      giveBack: async () => {
        stop();
        await this.#change((state, now) => {
          delete state.calls[this.#id];
          this.#window.correct(state.window, now, at, [-1, -reserved]);
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
  #change(change: (state: State, now: number) => number): Promise<number> {
    return this.#store.update(`quota ${this.#name}`, (text, now) => {
      const [window, calls, mean] = (text === null ? [null, {}, 0] : JSON.parse(text)) as [
        string | null,
        State["calls"],
        number,
      ];
      const live = Object.entries(calls).filter(([, until]) => until > now);
      const state = { window: this.#window.read(window), calls: Object.fromEntries(live), mean };
      const wait = change(state, now);
      // Calls under way may outlast the window.
      const keepMs = this.#window.keepMs(state.window, now) + this.#host.leaseMs;
      if (wait > 0) return { wait, keepMs };
      return {
        wait,
        keepMs,
        text: JSON.stringify([this.#window.text(state.window), state.calls, state.mean]),
      };
    });
  }
}

function tokensOf(usage: readonly Usage[]): number {
  return usage.reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens + outputTokens, 0);
}
