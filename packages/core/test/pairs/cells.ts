/**
 * The cells: what is done (one verb, or two at once), to a run in which state, under which option.
 *
 * cells.1. Every verb meets every state under every option.
 * cells.2. Every two verbs, in both orders, meet every state. The options go round, so that every verb of a pair, on either side,
 *     and every state meet every option; and once more with an option that fits the verbs.
 */

export const verbs = [
  "resume",
  "record",
  "repeat",
  "send",
  "cancel",
  "pause",
  "unpause",
  "retry",
  "fork",
  "delete",
  "purge",
  "advance",
  "copy",
  "start",
  "another",
  "deploy",
] as const;

export const states = [
  "queued",
  "delayed",
  "running",
  "streaming",
  "waiting",
  "sleeping",
  "paused",
  "cancelling",
  "failed",
  "compensated",
  "completed",
  "blocked",
  "child",
  "parent",
  "fork",
  "chapter",
] as const;

export const options = [
  "none",
  "priority",
  "concurrency",
  "rate",
  "step limit",
  "debounce",
  "singleton",
  "deadline",
  "compensation",
  "clean-up",
  "encryption",
  "tags",
  "versions",
] as const;

export type Verb = (typeof verbs)[number];
export type State = (typeof states)[number];
export type Option = (typeof options)[number];

export interface Cell {
  readonly state: State;
  readonly option: Option;
  /** One verb, or two that are issued together, in this order. */
  readonly verbs: readonly [Verb] | readonly [Verb, Verb];
  /** True when the verbs come from the process that set the run up, and not from another one. */
  readonly sameProcess: boolean;
  /** How long after the first verb the second one is issued. A step takes longer than that. */
  readonly apartMs: number;
}

export function nameOf({ state, option, verbs: done, sameProcess, apartMs }: Cell): string {
  const apart = done.length === 2 && apartMs > 0 ? ` ${apartMs} ms apart` : "";
  return `${done.join(" + ")} on ${state} with ${option}${apart}${sameProcess ? "" : ", from another process"}`;
}

/** Every verb in every state under every option. */
export function singles(): Cell[] {
  const cells: Cell[] = [];
  for (const [v, verb] of verbs.entries())
    for (const [s, state] of states.entries())
      for (const [o, option] of options.entries())
        cells.push({ state, option, verbs: [verb], sameProcess: (v + s + o) % 2 === 0, apartMs: 0 });
  return cells;
}

/** Options that a verb is most likely to be in trouble with. */
const pointed: Readonly<Partial<Record<Verb, readonly Option[]>>> = {
  another: ["singleton", "debounce"],
  cancel: ["clean-up", "compensation"],
  retry: ["singleton", "deadline"],
  pause: ["deadline", "rate"],
  unpause: ["priority", "concurrency"],
  fork: ["concurrency", "step limit"],
  delete: ["rate", "clean-up"],
  deploy: ["none", "versions"],
};

/** Every two verbs in every state, in both orders: once with an option whose turn it is, and once with one that fits the verbs. */
export function pairs(): Cell[] {
  const cells: Cell[] = [];
  for (const [a, first] of verbs.entries())
    for (const [b, second] of verbs.entries())
      for (const [s, state] of states.entries()) {
        const turn = a + 5 * b + 3 * s;
        const own = options[turn % options.length] ?? "none";
        const [ofFirst, ofSecond] = [pointed[first] ?? [], pointed[second] ?? []];
        const both = ofFirst.filter((option) => ofSecond.includes(option));
        const fitting = both.length > 0 ? both : [...ofFirst, ...ofSecond];
        const other = fitting[turn % Math.max(1, fitting.length)];
        const cell = { state, verbs: [first, second] as const, sameProcess: turn % 3 !== 0 };
        cells.push({ ...cell, option: own, apartMs: (a + b + s) % 2 === 0 ? 0 : 30 });
        if (other !== undefined && other !== own)
          cells.push({ ...cell, option: other, apartMs: (a + b + s) % 2 === 0 ? 30 : 0 });
      }
  return cells;
}

/** Every `nth` of them, spread by a step that shares no factor with the sizes of the axes. */
export function sampleOf(cells: readonly Cell[], count: number, seed: number): Cell[] {
  const step = 2_741;
  return Array.from({ length: count }, (_, n) => cells[(seed + n * step) % cells.length] as Cell);
}
