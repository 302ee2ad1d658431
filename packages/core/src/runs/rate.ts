/**
 * The rate of a workflow: a window per key, kept as a text of the storage, with its clock. See flow.3 and flow.5. A turn names
 * the text, so that a process without the code of the workflow can give it back.
 */

import type { Definition, LimitKey } from "../engine/definition.ts";
import type { Turn } from "../journal/entry.ts";
import { toMs } from "../values/duration.ts";
import { DurableError, show } from "../values/errors.ts";
import { limits } from "../values/limits.ts";
import { assertOptions } from "../values/options.ts";
import type { Host } from "./host.ts";
import { TextStore, Window, type WindowState } from "./window.ts";
import type { RunJournal } from "../journal/journal.ts";
import { turnIn } from "../journal/kinds.ts";

export interface Rate {
  /** The name of its text. */
  readonly name: string;
  readonly window: Window;
}

/** What a run got of its rate. */
export interface Taken {
  /** 0 when it may begin; otherwise in how many milliseconds it asks again. */
  readonly wait: number;
  /** When it was taken. */
  readonly at: number;
  readonly turn: Turn;
}

/** The rate of a run with this input; `null` without one. */
export function rateOf({ name, flow }: Definition, input: unknown): Rate | null {
  const { rate } = flow ?? {};
  if (rate === undefined) return null;
  const where = `The rate of "${name}"`;
  assertOptions(rate, "max per key", where);
  assertMax(rate.max, where);
  const perMs = toMs(rate.per, `${where}: per`);
  if (perMs < 1) throw invalid(`${where} has \`per: ${show(rate.per)}\`. Use a time.`);
  return {
    name: `rate ${JSON.stringify([name, keyOf(rate.key, input, where)])}`,
    window: new Window(perMs, [rate.max]),
  };
}

export async function takeRate(host: Host, rate: Rate, hasTurn: boolean): Promise<Taken> {
  const { name, window } = rate;
  let at = 0;
  const wait = await (
    await storeOf(host)
  ).update(name, (text, now) => {
    at = now;
    const state = window.read(text);
    const found = window.begin(state, now, hasTurn);
    return { text: window.text(state), wait: found, keepMs: window.keepMs(state, now) };
  });
  return { wait, at, turn: { rate: name, at: at + wait } };
}

/** The run did not begin after all. */
export async function returnUse(host: Host, { name }: Rate, takenAt: number): Promise<void> {
  await changed(host, name, (window, state, now) => window.correct(state, now, takenAt, [-1]));
}

/** A run is gone that had this turn. If the process dies before, the turn passes unused at its time. */
export async function giveTurnBack(host: Host, turn: Turn | undefined): Promise<void> {
  if (turn !== undefined)
    await changed(host, turn.rate, (window, state, now) => window.giveBack(state, now, turn.at));
}

async function changed(
  host: Host,
  name: string,
  change: (window: Window, state: WindowState, now: number) => void,
): Promise<void> {
  try {
    const store = await storeOf(host);
    await store.update(name, (text, now, mayBeDone) => {
      if (text === null || mayBeDone) return { wait: 0, keepMs: 0 };
      const window = Window.of(text);
      const state = window.read(text);
      change(window, state, now);
      return { text: window.text(state), wait: 0, keepMs: window.keepMs(state, now) };
    });
  } catch {
    // The work of the caller is done. An amount that cannot be given back is lost, and leaves the window by itself.
  }
}

async function storeOf(host: Host): Promise<TextStore> {
  return new TextStore(await host.storage(), host.world);
}

// ---- checked options ----

export function keyOf(key: LimitKey<never> | undefined, input: unknown, where: string): string {
  const found: unknown = typeof key === "function" ? key(input as never) : (key ?? "");
  if (typeof found === "string" && found.length <= limits.keyLength && found.isWellFormed()) return found;
  throw invalid(`${where} has the key ${show(found)}. Use a text of at most ${limits.keyLength} characters.`);
}

export function assertMax(max: number, where: string): void {
  if (Number.isSafeInteger(max) && max >= 1) return;
  throw invalid(`${where} has \`max: ${show(max)}\`. Use a whole number from 1 on.`);
}

export function invalid(message: string): DurableError {
  return new DurableError("invalid-options", message);
}

/** A run that is gone before it began gives the turn of its rate back. */
export async function leaveLine(host: Host, { entries }: RunJournal): Promise<void> {
  const turn = turnIn(entries);
  if (turn !== undefined) await giveTurnBack(host, turn);
}
