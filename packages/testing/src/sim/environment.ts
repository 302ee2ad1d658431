/** What the code of generated workflows reaches for, and where it stands. */

import type { AnyWorkflow, Resolution, StepInfo, Uncertain } from "@durable/core";

/** What the work of a generated workflow reaches for. */
export interface Environment {
  /** Time passes in the process that does the work. */
  pause(ms: number): Promise<void>;
  /** A value no other body ever gives; calm trees say what they give instead. */
  nonce(): string | null;
  /** Sends a token out into the world. */
  mail(token: string): void;
  /** Kills the process that does the work. */
  die(): Promise<never>;
  /** Forks the run at a step of its own, under an id that is the same at every attempt. */
  fork(runId: string, id: string): Promise<string>;
  /** The workflow of a child. */
  workflow(name: string): AnyWorkflow;
  /** Does something in the world outside. */
  effect(runId: string, info: StepInfo, value: unknown): void;
  /** Looks what was done there. */
  lookUp(uncertain: Uncertain): Promise<Resolution>;
}

export interface Frame {
  readonly environment: Environment;
  readonly runId: string;
  /** Where the frame stands in the tree: equal at every pass. */
  readonly place: string;
}
