/**
 * Programs of the differential suite. To add some, export a list from a file in `programs/`, and name the file in
 * `programs/index.ts`.
 */

import type { Context } from "@durable/core";
import type { ModelOptions, ToolOptions } from "../../src/index.ts";
import type { Model, Sdk } from "../support/versions.ts";
import type { DifferenceId } from "./differences.ts";
import type { Turn } from "./scripted.ts";

export type Major = 5 | 6 | 7;

/** The ways a program is run. In its next life it must neither ask the provider nor run a tool. */
export type Way = "plain" | "run" | "next life";

/** What a program gets. */
export interface Bench {
  readonly major: Major;
  readonly sdk: Sdk;
  /** `null` in the plain way. */
  readonly ctx: Context | null;
  /** A language model that answers turn by turn; recorded, unless the way is plain. */
  readonly model: (turns: readonly Turn[], options?: ModelOptions) => Model;
  /** Any other model, recorded unless the way is plain. Its calls must be reported with `asked`. */
  readonly recorded: <M extends object>(model: M) => M;
  readonly tools: <T extends Readonly<Record<string, object>>>(
    tools: T,
    options?: { readonly [K in keyof T]?: ToolOptions },
  ) => T;
  /** Counts a call of a provider. */
  readonly asked: () => void;
  /** Counts a run of a tool. */
  readonly ran: () => void;
  /** Waits for this answer from outside: in a run the process ends here, and the next one goes on. */
  readonly wait: <T>(name: string, answer: T) => Promise<T>;
}

/** A difference that is documented. The comparison is made without the fields it names. */
export interface Differs {
  readonly why: DifferenceId;
  readonly in: readonly Exclude<Way, "plain">[];
  /** All by default. */
  readonly versions?: readonly Major[];
  /** Names of the fields that are left out, at any depth. `calls` stands for the number of calls. */
  readonly without: readonly string[];
}

export interface Program {
  readonly name: string;
  /** All by default. */
  readonly versions?: readonly Major[];
  readonly differs?: readonly Differs[];
  /** Returns everything it saw. */
  run(bench: Bench): Promise<unknown>;
}

export interface Area {
  readonly area: string;
  readonly programs: readonly Program[];
}
