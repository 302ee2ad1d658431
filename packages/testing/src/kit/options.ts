/** What `crashEverywhere` is told. */

import type { Storage, Workflow } from "@durable/core";
import type { Fault } from "../faulty-storage.ts";
import type { VirtualWorld } from "../virtual-world.ts";
import type { AmbientName } from "./ambient.ts";
import type { Answers } from "./answers.ts";
import type { Recorder } from "./effects.ts";

/** What one life of the process has, for whatever else is to live in it. */
export interface CrashLife {
  readonly storage: Storage;
  readonly world: VirtualWorld;
  readonly secret: string;
  /** 1 for the first life of a history. */
  readonly number: number;
}

/** A workflow; or what a process does as it starts, called in every life, so that nothing outlives a crash. */
export type CrashSubject<Input, Output> =
  | Workflow<Input, Output>
  | ((life: CrashLife) => Workflow<Input, Output> | Promise<Workflow<Input, Output>>);

/** A function, or anything that can be put back to its start. */
export type Resettable = (() => unknown) | { reset(): unknown };

export interface CrashSettings<Output> {
  /** Answers to suspend points, by name: those of children as well, and `uncertain` for steps that ask somebody. */
  readonly resume?: Answers | undefined;
  /** Where fake services note what they were asked to do. */
  readonly effects?: Recorder | readonly Recorder[] | undefined;
  /** Fakes that are put back to their start before each history. */
  readonly reset?: Resettable | readonly Resettable[] | undefined;
  /** False when outputs may differ from history to history, because steps return something new each time. */
  readonly compare?: boolean | undefined;
  /** When two outputs are the same; deep equality by default. */
  readonly same?: ((calm: Output, other: Output) => boolean) | undefined;
  /** How the run is meant to end; `completed` by default. */
  readonly ends?: "completed" | "failed" | "cancelled" | undefined;
  /** Clock and chance that workflow code may read: for a logger, say. */
  readonly allow?: readonly AmbientName[] | undefined;
  /** What is tried at every point; five ways by default. */
  readonly faults?: readonly Fault[] | undefined;
  /** With a seed, storage is slow by random amounts, which finds what instant storage hides. */
  readonly slowSeed?: number | undefined;
  /** How long virtual time waits for a body, in real milliseconds; 1,000 by default. */
  readonly bodyMs?: number | undefined;
  /** False to get the report of a failure instead of an error. */
  readonly throws?: boolean | undefined;
}

/** The input may be left out where the workflow takes none. */
export type CrashOptions<Input, Output> = CrashSettings<Output> &
  (unknown extends Input
    ? { readonly input?: Input }
    : undefined extends Input
      ? { readonly input?: Input }
      : { readonly input: Input });

export type CrashArguments<Input, Output> = unknown extends Input
  ? [options?: CrashOptions<Input, Output>]
  : undefined extends Input
    ? [options?: CrashOptions<Input, Output>]
    : [options: CrashOptions<Input, Output>];

export const everyFault: readonly Fault[] = [
  "crash-before",
  "crash-after",
  "crash-then-apply",
  "lose-reply",
  "lose-request",
];
