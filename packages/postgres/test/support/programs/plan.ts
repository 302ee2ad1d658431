/** Programs of an app, made up from a seed. Each operation makes sense wherever it stands, so that a list can be shortened. */

import type { RunStatus, StartOptions } from "@durable/core";
import type { Missed, Overlap } from "@durable/core/types";
import { seeded, type Random } from "@durable/testing";
import { flowNames, type FlowName, type Input } from "./flows.ts";

/**
 * A run: the nth of those with a status, or of all where there is none. So operations meet runs that they can change, also
 * in a list that was shortened.
 */
export interface Target {
  readonly nth: number;
  readonly status: RunStatus | null;
}

export type Op =
  | { readonly op: "start"; readonly flow: FlowName; readonly input: Input; readonly options: StartOptions }
  | {
      readonly op: "advance" | "cancel" | "pause" | "unpause" | "retry" | "delete" | "drop";
      readonly run: Target;
    }
  /** A worker of one workflow looks for work, once. */
  | { readonly op: "work"; readonly flow: FlowName; readonly most: number }
  /** `tick`: ten minutes pass, and then a worker looks at the schedules. */
  | { readonly op: "sweep" | "tick" }
  | { readonly op: "send"; readonly run: Target; readonly payload: number; readonly id: string | null }
  /** Answers the first open wait of a run, or of the child that it waits for. */
  | { readonly op: "answer"; readonly run: Target; readonly value: number; readonly drive: boolean }
  /** Goes back to the nth recorded call, or replaces what it gave. */
  | {
      readonly op: "fork";
      readonly run: Target;
      readonly id: string;
      readonly nth: number;
      readonly edit: boolean;
    }
  | {
      readonly op: "purge";
      readonly olderThan: number | null;
      readonly keep: number | null;
      readonly all: boolean;
    }
  /** Another process takes a due run, and dies. */
  | { readonly op: "hold"; readonly nth: number }
  | { readonly op: "stop" | "go"; readonly flow: FlowName }
  | { readonly op: "schedule"; readonly flow: FlowName; readonly overlap: Overlap; readonly missed: Missed }
  | { readonly op: "unschedule" | "trigger" }
  | { readonly op: "weather"; readonly storm: boolean }
  | { readonly op: "clock"; readonly ms: number };

const minute = 60_000;
const clocks = [0, 1_000, minute, 10 * minute, 61 * minute, 5 * 60 * minute];

/** Which runs an operation is for, most of the time. */
const wanted: Readonly<Record<string, readonly (RunStatus | null)[]>> = {
  advance: ["running", "suspended"],
  cancel: ["running", "suspended", "paused", null],
  pause: ["running", "suspended", null],
  unpause: ["paused"],
  retry: ["failed"],
  delete: [null],
  drop: ["suspended", null],
  send: ["running", "suspended", null],
  answer: ["suspended", "suspended", "paused", null],
  fork: ["completed", "suspended", "failed", "cancelled"],
};

class Maker {
  readonly #random: Random;
  #starts = 0;
  #forks = 0;

  constructor(seed: number) {
    this.#random = seeded(seed);
  }

  #pick<T>(list: readonly T[]): T {
    return this.#random.pick(list);
  }

  #run(op: string): Target {
    return { nth: this.#random.between(0, 5), status: this.#pick(wanted[op] ?? [null]) };
  }

  #options(): StartOptions {
    const chance = (p: number): boolean => this.#random.chance(p);
    const kind = this.#random.next();
    return {
      // Now and then an id that is there.
      id: `r${chance(0.1) ? 0 : this.#starts++}`,
      drive: chance(0.35),
      ...(chance(0.3) && { tags: { of: this.#pick(["ann", "bob"]), stage: "new" } }),
      ...(chance(0.3) && { priority: this.#pick([-5, 1, 60]) }),
      ...(chance(0.1) && { deadline: "30 minutes" }),
      ...(kind < 0.15 && { singleton: this.#pick(["s", "t"]) }),
      ...(kind >= 0.15 && kind < 0.3 && { debounce: { key: this.#pick(["d", "e"]), wait: "5 minutes" } }),
      ...(kind >= 0.3 && kind < 0.4 && { delay: this.#pick(["30 seconds", "20 minutes"]) }),
    };
  }

  op(n: number): Op {
    if (n === 0) return this.#schedule();
    const kind = n < 5 ? 0 : this.#random.next();
    if (kind < 0.2) return this.#start();
    if (kind < 0.28) return { op: "work", flow: this.#pick(flowNames), most: this.#pick([1, 2, 5]) };
    if (kind < 0.4) return { op: "clock", ms: this.#pick(clocks) };
    if (kind < 0.58) return this.#talk();
    if (kind < 0.82) return this.#steer();
    return this.#operate();
  }

  #start(): Op {
    const input = { n: this.#random.between(0, 3), key: this.#pick(["x", "y"]) };
    return { op: "start", flow: this.#pick(flowNames), input, options: this.#options() };
  }

  #schedule(): Op {
    return {
      op: "schedule",
      flow: this.#pick(["steps", "ask", "nap"] as const),
      overlap: this.#pick(["skip", "allow", "queue", "cancel"] as const),
      missed: this.#pick(["latest", "skip", "all"] as const),
    };
  }

  #talk(): Op {
    const [value, op] = [this.#random.between(0, 9), this.#pick(["send", "answer", "answer"] as const)];
    const run = this.#run(op);
    if (op === "send") return { op, run, payload: value, id: this.#pick([null, "m", "n"]) };
    return { op, run, value, drive: this.#random.chance(0.5) };
  }

  #steer(): Op {
    const op = this.#pick([
      "advance",
      "cancel",
      "pause",
      "unpause",
      "retry",
      "retry",
      "fork",
      "fork",
      "fork",
      "delete",
      "drop",
    ] as const);
    const run = this.#run(op);
    if (op !== "fork") return { op, run };
    const [nth, edit] = [this.#random.between(0, 3), this.#random.chance(0.3)];
    return { op, run, id: `f${this.#forks++}`, nth, edit };
  }

  #operate(): Op {
    const flow = this.#pick(flowNames);
    const op = this.#pick([
      "sweep",
      "sweep",
      "tick",
      "tick",
      "tick",
      "purge",
      "hold",
      "hold",
      "stop",
      "go",
      "schedule",
      "trigger",
      "unschedule",
      "weather",
    ] as const);
    switch (op) {
      case "purge": {
        const olderThan = this.#pick([null, 0, minute]);
        const keep = olderThan === null ? this.#pick([0, 1]) : null;
        return { op, olderThan, keep, all: this.#random.chance(0.5) };
      }
      case "hold":
        return { op, nth: this.#random.between(0, 3) };
      case "stop":
      case "go":
        return { op, flow };
      case "schedule":
        return this.#schedule();
      case "weather":
        return { op, storm: this.#random.chance(0.5) };
      default:
        return { op };
    }
  }
}

export function programOf(seed: number, length: number): Op[] {
  const maker = new Maker(seed);
  return Array.from({ length }, (_, n) => maker.op(n));
}
