/**
 * What the code of a generated workflow may call, and its position in the tree. Proven in test/sim.test.ts.
 */

import type { AnyWorkflow, Resolution, StepInfo, Uncertain } from "@durable/core";

/** In trees with foreign awaits: a call must not get the value of another one. */
export interface Pairs {
  made(place: string, value: unknown): void;
  got(runId: string, place: string, call: { readonly name: string; readonly value: unknown }): void;
  /** A call after a foreign await got its value. */
  afterForeign(runId: string, key: string): void;
}

/** What the work of a generated workflow may call. */
export interface Environment {
  /** Waits in the process that does the work. */
  pause(ms: number): Promise<void>;
  /** Called when work, a branch or a resolution of the call at this place begins, and before each chunk. */
  begins(runId: string, place: string): void;
  /** Notes that workflow code met this event. */
  met(what: string): void;
  /** Rejects a promise that no code awaits. */
  stray(runId: string): void;
  /** Waits like `pause`, but in the workflow function, where only `ctx` should be awaited. */
  foreign(ms: number): Promise<void>;
  /** Called before the line that code logs before a step; null where it logs none. */
  readonly comesTo: (() => void) | null;
  /** Workflows say how their steps are tried again. */
  readonly defaults: boolean;
  /** Notes which place in the tree made a value, and judges which place gets it. */
  readonly pairs: Pairs | null;
  /** A value that no other body returns; null in calm trees, whose values follow from the tree. */
  nonce(): string | null;
  /** Sends a token out by mail. */
  mail(token: string): void;
  /** Kills the process that does the work. */
  die(): Promise<never>;
  /** Forks the run at one of its steps, under an id that is the same in every attempt. */
  fork(runId: string, id: string): Promise<string>;
  /** The workflow of a child. */
  workflow(name: string): AnyWorkflow;
  /** Makes an effect on the outside world. */
  effect(info: StepInfo, value: unknown): void;
  /** Looks up an effect on the outside world. */
  lookUp(uncertain: Uncertain): Promise<Resolution>;
}

/** Where the interpreter is. */
export interface Frame {
  readonly environment: Environment;
  readonly runId: string;
  /** The input of the run. */
  readonly given: unknown;
  /** The position in the tree, equal in every pass. */
  readonly place: string;
}
