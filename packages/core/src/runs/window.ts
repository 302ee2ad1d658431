/**
 * A sliding window: how much was used within the last `perMs`, in numbered amounts. A pure function of its text.
 *
 * window.1. Within any time of the length `perMs`, no amount is granted more than its limit. Use is kept in a hundred parts
 *     of the window, and a part counts until all of it has left the window. So at most one percent is given away.
 * window.2. Use that is larger than a limit is granted when the window is empty, because it would never fit.
 */

/** Parts of a window. */
const parts = 100;

export interface WindowState {
  /** The beginning of a part, then the amounts that were used in it. */
  used: [at: number, ...amounts: number[]][];
  /** The latest turn that a caller was given. */
  line: number;
}

export class Window {
  readonly #perMs: number;
  readonly #limits: readonly number[];
  readonly #partMs: number;

  constructor(perMs: number, limits: readonly number[]) {
    this.#perMs = perMs;
    this.#limits = limits;
    this.#partMs = Math.max(1, Math.ceil(perMs / parts));
  }

  /** How long a text is needed after its last change. */
  get keepMs(): number {
    return 2 * (this.#perMs + this.#partMs);
  }

  read(text: string | null): WindowState {
    const [line, ...used] = (text === null ? [0] : JSON.parse(text)) as [number, ...WindowState["used"]];
    return { used, line };
  }

  text({ used, line }: WindowState): string {
    return JSON.stringify([line, ...used]);
  }

  /** Takes amounts, if all of them fit. */
  take(state: WindowState, now: number, amounts: readonly number[]): boolean {
    this.#trim(state, now);
    if (!this.#fits(state, amounts)) return false;
    this.add(state, now, amounts);
    return true;
  }

  /**
   * Takes one, or gives a turn to ask again: after all turns that were given before, at the pace of the limit. A caller
   * that has a turn and finds the window full asks again as soon as it can be free.
   */
  begin(state: WindowState, now: number, hasTurn: boolean): { readonly text: string; readonly wait: number } {
    this.#trim(state, now);
    if ((hasTurn || state.line <= now) && this.take(state, now, [1]))
      return { text: this.text(state), wait: 0 };
    const free = this.wait(state, now, [1]);
    if (hasTurn) return { text: this.text(state), wait: free };
    const [limit = 1] = this.#limits;
    state.line = Math.max(now + free, state.line + (this.#perMs + this.#partMs) / limit);
    return { text: this.text(state), wait: Math.ceil(state.line - now) };
  }

  /** Adds use that has happened; a negative amount takes back what was too much. */
  add(state: WindowState, now: number, amounts: readonly number[]): void {
    const at = Math.floor(now / this.#partMs) * this.#partMs;
    const last = state.used.at(-1);
    if (last === undefined || last[0] !== at) state.used.push([at, ...amounts]);
    else amounts.forEach((amount, n) => (last[n + 1] = (last[n + 1] ?? 0) + amount));
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
    if (state.line <= now) state.line = 0;
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
