/**
 * A sliding window: how much was used within the last `perMs`, in numbered amounts. A pure function of its text.
 *
 * window.1. Within any time of the length `perMs`, no amount is granted more than its limit. Use is kept in a hundred parts
 *     of the window, and a part counts until all of it has left the window. So at most one percent is given away.
 * window.2. Use that is larger than a limit is granted when the window is empty, because it would never fit.
 * window.3. Use that was taken and not needed is taken back in the part in which it was taken, and leaves the window with
 *     it. Booked later, it would outlive what it corrects, and let the same amount through a second time.
 * window.4. A turn that was given back goes to the next caller without one. No caller with a turn comes later for it.
 * window.5. Callers whose turn has come and who find the window full ask again one after the other, before all who come new.
 *     So a thousand of them, after a time without a worker, ask about twice each, and not all at every free place.
 * text-store.1. A change is a compare-and-swap on the text. One that came too late is computed again from the new text.
 * text-store.2. A storage that fails is asked again for a while. If the reply to a swap is lost, the same use may be counted
 *     twice. But what is given back is given back once, or not at all: a place that is free twice is one too many. The text
 *     does not tell whether the swap was done: another process may have taken since what was given back.
 * text-store.3. A text that this library has not written is `corrupt` at once. To ask again would not help.
 */

import type { Storage, StorageLimits } from "../ports/storage.ts";
import { isFinal } from "../journal/errors.ts";
import { backOff, pause, type World } from "../ports/world.ts";
import { DurableError, describeError, show } from "../values/errors.ts";
import { parsed } from "../values/shown.ts";

/** Parts of a window, and times in the list of turns that were given back. */
const parts = 100;

export interface WindowState {
  /** The beginning of a part, then the amounts that were used in it. */
  used: [at: number, ...amounts: number[]][];
  /** The latest turn that a caller was given. */
  line: number;
  /** The latest time at which a caller asks again whose turn had come. */
  late: number;
  /** Turns that were given back: their times, and how many each. */
  free: [at: number, count: number][];
}

type WindowText = [
  perMs: number,
  line: number,
  late: number,
  free: WindowState["free"],
  ...used: WindowState["used"],
];

export class Window {
  readonly #perMs: number;
  readonly #limits: readonly number[];
  readonly #partMs: number;
  /** The time from one turn to the next. */
  readonly #paceMs: number;

  constructor(perMs: number, limits: readonly number[]) {
    this.#perMs = perMs;
    this.#limits = limits;
    this.#partMs = Math.max(1, Math.ceil(perMs / parts));
    this.#paceMs = (perMs + this.#partMs) / (limits[0] ?? 1);
  }

  /** The window of a text, to give something back. It grants nothing, because the text does not say how much. */
  static of(text: string): Window {
    const [perMs] = windowIn(text);
    return new Window(perMs, [0]);
  }

  /** How long a text is needed after a change. */
  keepMs({ line, late }: WindowState, now: number): number {
    return Math.ceil(2 * (this.#perMs + this.#partMs) + Math.max(0, line - now, late - now));
  }

  read(text: string | null): WindowState {
    const [, line, late, free, ...used] = windowIn(text ?? "[0,0,0,[]]");
    return { used, line, late, free };
  }

  text({ used, line, late, free }: WindowState): string {
    return JSON.stringify([this.#perMs, line, late, free, ...used] satisfies WindowText);
  }

  /** Takes amounts, if all of them fit. */
  take(state: WindowState, now: number, amounts: readonly number[]): boolean {
    this.#trim(state, now);
    if (!this.#fits(state, amounts)) return false;
    this.add(state, now, amounts);
    return true;
  }

  /**
   * Takes one, or gives a turn to ask again: one that was given back, or after all turns that were given before, at the
   * pace of the limit. A caller that has a turn and finds the window full asks again as soon as it can be free, and not
   * together with others of its kind. Returns 0, or in how many milliseconds to ask again.
   */
  begin(state: WindowState, now: number, hasTurn: boolean): number {
    this.#trim(state, now);
    const last = Math.max(state.line, state.late);
    const isFirst = hasTurn || last <= now;
    const isNext = isFirst || (state.free[0]?.[0] ?? Infinity) <= now;
    if (isNext && this.take(state, now, [1])) {
      if (!isFirst) this.#takeFree(state);
      return 0;
    }
    const soonest = now + this.wait(state, now, [1]);
    if (hasTurn) {
      state.late = Math.max(soonest, state.late + this.#paceMs);
      return Math.ceil(state.late - now);
    }
    const turn = Math.max(soonest, this.#takeFree(state) ?? last + this.#paceMs);
    state.line = Math.max(state.line, turn);
    return Math.ceil(turn - now);
  }

  #takeFree({ free }: WindowState): number | undefined {
    const [first] = free;
    if (first === undefined) return undefined;
    first[1] -= 1;
    if (first[1] === 0) free.shift();
    return first[0];
  }

  /** A turn is given back, because its owner is gone. */
  giveBack(state: WindowState, now: number, turn: number): void {
    const { free } = state;
    const same = free.find(([at]) => at === turn);
    if (same === undefined) free.push([turn, 1]);
    else same[1] += 1;
    free.sort(([a], [b]) => a - b);
    this.#trim(state, now);
    if (state.free.length > parts) mergeNearest(state.free, now);
  }

  /** Adds use that has happened. */
  add(state: WindowState, now: number, amounts: readonly number[]): void {
    const at = this.#partAt(now);
    const last = state.used.at(-1);
    if (last === undefined || last[0] !== at) state.used.push([at, ...amounts]);
    else addTo(last, amounts);
  }

  /** Corrects what was taken at `takenAt`: what was too much is taken back there, and what came on top counts from now on. */
  correct(state: WindowState, now: number, takenAt: number, amounts: readonly number[]): void {
    const part = state.used.find(([at]) => at === this.#partAt(takenAt));
    const less = amounts.map((amount) => Math.min(amount, 0));
    if (part !== undefined) addTo(part, less);
    if (amounts.some((amount) => amount > 0))
      this.add(
        state,
        now,
        amounts.map((amount) => Math.max(amount, 0)),
      );
  }

  /** In how many milliseconds these amounts fit, if nothing else is taken. */
  wait(state: WindowState, now: number, amounts: readonly number[]): number {
    this.#trim(state, now);
    const rest = { ...state, used: [...state.used] };
    for (let at = now; ; at = this.#leaves(rest.used.shift() ?? [now]))
      if (this.#fits(rest, amounts)) return Math.max(1, at - now);
  }

  #trim(state: WindowState, now: number): void {
    // A part of a clock that was ahead counts for as long as any other.
    state.used = state.used.filter(
      ([at, ...rest]) => this.#leaves([at, ...rest]) > now && at <= now + this.#perMs,
    );
    // The turn after it has come as well, and the window would be too full for both.
    state.free = state.free.filter(([at]) => at + this.#paceMs > now && state.line > now);
    if (state.line <= now) state.line = 0;
    if (state.late <= now) state.late = 0;
  }

  #partAt(time: number): number {
    return Math.floor(time / this.#partMs) * this.#partMs;
  }

  #leaves([at]: WindowState["used"][number]): number {
    return at + this.#partMs + this.#perMs;
  }

  #fits({ used }: WindowState, amounts: readonly number[]): boolean {
    return amounts.every((amount, n) => {
      const before = used.reduce((sum, part) => sum + (part[n + 1] ?? 0), 0);
      return before <= 0 || before + amount <= (this.#limits[n] ?? Infinity);
    });
  }
}

/** What `Window.text` has written; `corrupt` for any other text. */
function windowIn(text: string): WindowText {
  const found = parsed(text);
  const [perMs, line, late, free, ...used] = Array.isArray(found) ? (found as readonly unknown[]) : [];
  const isWindow =
    isNumbers([perMs, line, late]) && Array.isArray(free) && [...free, ...used].every(isNumbers);
  if (!isWindow) throw damagedText();
  return found as WindowText;
}

/** True for a list of numbers; JSON has others than finite ones, such as 1e999. */
export function isNumbers(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every(Number.isFinite);
}

/** `TextStore` says which text it is. */
export function damagedText(): DurableError {
  return new DurableError("corrupt", "Not a text of this library.");
}

function addTo(part: WindowState["used"][number], amounts: readonly number[]): void {
  for (const [n, amount] of amounts.entries()) part[n + 1] = (part[n + 1] ?? 0) + amount;
}

/**
 * Two neighbours become one, at the later time, so that a caller is at most given too late a turn: those that are nearest to
 * each other, compared with how far away they are.
 */
function mergeNearest(free: WindowState["free"], now: number): void {
  const gaps = free.map(([at], n) => (at - (free[n - 1]?.[0] ?? -Infinity)) / Math.max(1, at - now));
  const n = gaps.indexOf(Math.min(...gaps));
  const [before] = free.splice(n - 1, 1);
  const after = free[n - 1];
  if (before !== undefined && after !== undefined) after[1] += before[1];
}

interface Change {
  /** Missing when the text stays as it is. */
  readonly text?: string;
  /** In how many milliseconds to ask again; 0 when it was granted. */
  readonly wait: number;
  /** How long the text is needed. */
  readonly keepMs: number;
}

const mostFailures = 12;

export class TextStore {
  readonly #limits: StorageLimits;
  readonly #world: World;

  constructor(storage: Storage, world: World) {
    checkLimits({ storage });
    this.#limits = storage.limits as StorageLimits;
    this.#world = world;
  }

  /**
   * `change` gets the text and the time by the clock of the storage, and may be called several times; `mayBeDone` says that
   * an earlier swap of it failed, and may have been done.
   */
  async update(
    name: string,
    change: (text: string | null, now: number, mayBeDone: boolean) => Change | Promise<Change>,
  ): Promise<number> {
    let mayBeDone = false;
    for (let [tries, failures] = [1, 0]; ; tries++) {
      try {
        const { value, now } = await this.#limits.read(name);
        const { text, wait, keepMs } = await change(value, now, mayBeDone);
        if (text === undefined) return wait;
        const isFirst = !mayBeDone;
        mayBeDone = true;
        if (await this.#limits.swap(name, value, text, keepMs)) return wait;
        // Refused, so it was not done.
        if (isFirst) mayBeDone = false;
        failures = 0;
      } catch (error) {
        if (DurableError.is(error, "corrupt")) throw damaged(name, error);
        if (isFinal(error)) throw error;
        if (++failures >= mostFailures) throw failed(name, error);
        await backOff(this.#world, failures);
      }
      // Another process changed the text first: back off a little.
      await pause(this.#world, Math.min(4 * tries, 100) * this.#world.random());
    }
  }
}

/** A text that counts from zero would let through what it has to hold back. */
function damaged(name: string, cause: unknown): DurableError {
  const message = `${show(name)} in the storage is damaged. Restore it from a backup, or delete it: the limit then counts from zero.`;
  return new DurableError("corrupt", message, { cause });
}

function failed(name: string, cause: unknown): DurableError {
  return new DurableError(
    "storage-failed",
    `Could not read or change ${show(name)} after ${mostFailures} attempts (${describeError(cause)}). Try again later.`,
    { cause },
  );
}

/** Limits that hold across processes need a storage that keeps them. The default storage does. */
export function checkLimits({ storage }: { readonly storage?: Storage | undefined }): void {
  if (storage === undefined || storage.limits !== undefined) return;
  throw new DurableError(
    "invalid-options",
    `${storage.constructor.name} cannot keep limits across processes. Use SqliteStorage or PostgresStorage.`,
  );
}
