/** The options of `crashEverywhere`. Proven in test/kit-types.test-d.ts. */

import type { Storage, Workflow } from "@durable/core";
import type { Fault } from "../faulty-storage.ts";
import type { VirtualWorld } from "../virtual-world.ts";
import type { AmbientName } from "./ambient.ts";
import type { Answers } from "./answers.ts";
import type { Recorder } from "./effects.ts";

/** What one process has, for other parts that run in it. */
export interface CrashLife {
  readonly storage: Storage;
  readonly world: VirtualWorld;
  readonly secret: string;
  /** 1 for the first process of a history. */
  readonly number: number;
}

/**
 * A workflow, or a function that sets up a process; it is called for every process, so that nothing outlives
 * a crash.
 */
export type CrashSubject<Input, Output> =
  | Workflow<Input, Output>
  | ((life: CrashLife) => Workflow<Input, Output> | Promise<Workflow<Input, Output>>);

/** A function, or an object with a `reset` method. */
export type Resettable = (() => unknown) | { reset(): unknown };

export interface CrashSettings<Output> {
  /** Answers to suspend points by name, including those of children, and `uncertain` for steps that ask. */
  readonly resume?: Answers | undefined;
  /** Recorders to which fake services report what they do. */
  readonly effects?: Recorder | readonly Recorder[] | undefined;
  /** Fakes that are reset before each history. */
  readonly reset?: Resettable | readonly Resettable[] | undefined;
  /** False when outputs may differ between histories, because steps return something new each time. */
  readonly compare?: boolean | undefined;
  /** Compares two outputs; deep equality by default. */
  readonly same?: ((calm: Output, other: Output) => boolean) | undefined;
  /** The expected end of the run; `completed` by default. */
  readonly ends?: "completed" | "failed" | "cancelled" | undefined;
  /** Reads of clock and randomness that workflow code may make, for example in a logger. */
  readonly allow?: readonly AmbientName[] | undefined;
  /** The faults to try at every point; five by default. */
  readonly faults?: readonly Fault[] | undefined;
  /** With a seed, storage has random latency, which finds bugs that instant storage hides. */
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
