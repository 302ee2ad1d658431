/** The options of `crashEverywhere`. Proven in test/kit-types.test-d.ts. */

import type { Duration, QuotaOptions, Storage, Workflow } from "@durable/core";
import type { HooksOption } from "@durable/core/hooks";
import type { Fault } from "../faulty-storage.ts";
import type { VirtualWorld } from "../virtual-world.ts";
import type { AmbientName } from "./ambient.ts";
import type { Answers } from "./answers.ts";
import type { Recorder } from "./effects.ts";
import type { ReplacedSteps } from "./replaced-steps.ts";

/** What one process of a history has: use it for services that the workflow needs. */
export interface CrashLife {
  readonly storage: Storage;
  readonly world: VirtualWorld;
  readonly secret: string;
  /** 1 for the first process of a history. */
  readonly number: number;
}

/**
 * A workflow, or a function that each process calls when it starts, so that nothing in memory survives a
 * crash.
 */
export type CrashSubject<Input, Output> =
  | Workflow<Input, Output>
  | ((life: CrashLife) => Workflow<Input, Output> | Promise<Workflow<Input, Output>>);

/** A function, or an object with a `reset` method. */
export type Resettable = (() => unknown) | { reset(): unknown };

/** A storage for one history. */
export interface CrashStorage {
  readonly storage: Storage;
  /** Closes it, and removes the data. */
  close?(): Promise<void>;
}

export interface CrashSettings<Output> {
  /**
   * Opens a fresh, empty storage for each history; in memory by default. `now` is the clock of its leases. Use it to try
   * a storage of your own: with a database every history takes real time.
   */
  readonly storage?:
    | ((options: { readonly now: () => number }) => CrashStorage | Promise<CrashStorage>)
    | undefined;
  /**
   * Answers to suspend points by name, those of children included; `uncertain` answers steps that ask about
   * an uncertain attempt. For a topic that the workflow receives, it is the message to send.
   */
  readonly resume?: Answers | undefined;
  /** Work in place of that of steps and streams, by name, children included; it gets what the work gets. */
  readonly steps?: ReplacedSteps | undefined;
  /** Recorders to which fake services report what they do. */
  readonly effects?: Recorder | readonly Recorder[] | undefined;
  /** Fakes that are reset before each history: functions, or objects with a `reset` method. */
  readonly reset?: Resettable | readonly Resettable[] | undefined;
  /** False when outputs may differ between histories, because steps return something new each time. */
  readonly compare?: boolean | undefined;
  /** Whether two outputs are equal; deep equality by default. */
  readonly same?: ((calm: Output, other: Output) => boolean) | undefined;
  /** How the run is expected to end; `completed` by default. */
  readonly ends?: "completed" | "failed" | "cancelled" | undefined;
  /**
   * Clocks and random sources that workflow code may read outside of steps, for example in a logger. The ones that the
   * AI SDK reads for itself are allowed anyway. `foreign-await` allows to await something other than `ctx`, which is then
   * only a warning.
   */
  readonly allow?: readonly (AmbientName | "foreign-await")[] | undefined;
  /** Hooks of the app in every process. */
  readonly hooks?: HooksOption | undefined;
  /** Limits of the app in every process, for steps with `{ limit }`. */
  readonly quotas?: Readonly<Record<string, QuotaOptions>> | undefined;
  /** Which faults are tried at every point; five by default. */
  readonly faults?: readonly Fault[] | undefined;
  /** With a seed, the storage is slow by random amounts, which finds faults that an instant storage hides. */
  readonly slowSeed?: number | undefined;
  /** How long virtual time waits for the work of a step, in real time; one second by default. */
  readonly bodyWithin?: Duration | undefined;
  /**
   * How long the test may take, in real time; 4 seconds by default, or what the environment variable `DURABLE_TEST_WITHIN`
   * says. Cases that do not fit are left out, and the report says how many were tried.
   */
  readonly within?: Duration | undefined;
  /** The largest number of cases, for long workflows; all that fit into `within` by default. */
  readonly cases?: number | undefined;
  /** Chooses the cases, where not all are tried; 1 by default. */
  readonly seed?: number | undefined;
  /** False to return the report of a failure instead of throwing it. */
  readonly throws?: boolean | undefined;
}

/** Options of `crashEverywhere`. The input may be left out where the workflow takes none. */
export type CrashOptions<Input, Output> = CrashSettings<Output> &
  (unknown extends Input
    ? { readonly input?: Input }
    : undefined extends Input
      ? { readonly input?: Input }
      : { readonly input: Input });

/** The names of these options. */
export const crashOptions =
  "input storage resume steps effects reset compare same ends allow hooks quotas faults slowSeed bodyWithin within cases seed throws";

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
