/** A workflow as the engine sees it: a name and a function. */

import type { Duration } from "../values/duration.ts";
import type { Tags } from "../values/run-tags.ts";
import type { StandardSchema } from "../values/schema.ts";
import type { BudgetOptions } from "./budgeting.ts";
import type { RetryOptions } from "./calls/retry.ts";
import type { Usage } from "../values/usage.ts";

/** What the runs and steps of a workflow have where they do not say otherwise. */
export interface Defaults {
  /** When a failed attempt of a step or stream is repeated; `false` means one attempt. */
  readonly retry?: RetryOptions | false | undefined;
  /** For each attempt of a step or stream. */
  readonly timeout?: Duration | undefined;
  /** What to do with a step that began and whose end was not recorded. */
  readonly onUncertain?: OnUncertain | undefined;
  /**
   * How long a run may take, from its start to its end, waits included, or the date of its end. When it passes, the run
   * fails with code `deadline`.
   */
  readonly deadline?: Duration | Date | undefined;
}

/** Schemas of messages, by topic. */
export type MessageSchemas = Readonly<Record<string, StandardSchema>>;

/** What runs have in common that share a limit: a text, or a function of the input. */
export type LimitKey<Input> = string | ((input: Input) => string);

/** Limits of a workflow that hold across processes. */
export interface FlowOptions<Input = never> {
  /** At most `max` runs, or `max` with the same key, are driven at the same time. Parked runs do not count. */
  readonly concurrency?:
    | number
    | { readonly max: number; readonly key?: LimitKey<Input> | undefined }
    | undefined;
  /** At most `max` runs with the same key begin within any time of the length `per`. */
  readonly rate?:
    | { readonly max: number; readonly per: Duration; readonly key?: LimitKey<Input> | undefined }
    | undefined;
  /**
   * Due runs with a higher priority are taken first: as if they had become due this many seconds earlier. From
   * -86,400 to 86,400; 0 by default.
   */
  readonly priority?: number | ((input: Input) => number) | undefined;
  /**
   * Due runs with different keys are taken in turn, so that a key with many runs does not keep the others
   * waiting. No key is limited: one that is alone gets all places. `weight` is how many runs are taken in one
   * turn of the key; 1 by default.
   */
  readonly fair?:
    | LimitKey<Input>
    | {
        readonly key: LimitKey<Input>;
        readonly weight?: number | ((input: Input) => number) | undefined;
      }
    | undefined;
}

/** `concurrency` as an object. */
export function concurrencyOf({ concurrency }: FlowOptions): Exclude<FlowOptions["concurrency"], number> {
  return typeof concurrency === "number" ? { max: concurrency } : concurrency;
}

/** What `durable()` was given: name, function, input schema, version and limits. */
export interface Definition<Input = unknown, Output = unknown> {
  readonly name: string;
  readonly body: (ctx: never, input: never) => unknown;
  readonly input: StandardSchema | null;
  readonly version: string | null;
  /** Missing for a workflow without limits. */
  readonly flow?: FlowOptions;
  readonly defaults: Defaults;
  /** The topics that its runs receive, and the schemas of their messages; missing when any topic is accepted. */
  readonly messages?: MessageSchemas | undefined;
  readonly budget?: BudgetOptions | undefined;
  /** Tags of every run, or a function that makes them from its input. */
  readonly tags?: Tags | ((input: never) => Tags) | undefined;
  /** For the library alone: which app the verbs of the workflow act on. */
  readonly binding?: object | undefined;
  /**
   * For types only: the input and the output. A method, so that `Workflow<never, unknown>` accepts any
   * workflow.
   */
  types?(input: Input): Output;
}

/** From a workflow's name to its code; `null` where this process does not have it. */
export type Find = (workflow: string) => Definition | null;

/** An input and options; the input may be left out where the workflow takes none. */
export type Arguments<Input, Options> = unknown extends Input
  ? [input?: Input, options?: Options]
  : undefined extends Input
    ? [input?: Input, options?: Options]
    : [input: Input, options?: Options];

/** A recorded outcome that the code has not asked for. */
export interface Unclaimed {
  readonly key: string;
  readonly name: string;
  /** The recorded value: the chunks of a stream, `undefined` for a failure. */
  readonly value: () => unknown;
}

/** For a step or stream whose name comes from its content, so that other content gives another name. */
export interface ByContent {
  /** True for the names of such calls. */
  readonly isOne: (name: string) => boolean;
  /**
   * Called when there is no record, but recorded calls of the branch are unclaimed: the code was changed.
   * Returns the key of the one whose outcome this call takes over, or `null` to do the work. Throws a
   * `DurableError` to block the run. `calls` is how many calls of the branch are in this situation, `version` how
   * the version of the code compares with that of the run; `null` where the code has none.
   */
  readonly choose: (
    unclaimed: readonly Unclaimed[],
    calls: number,
    version: "same" | "other" | null,
  ) => string | null;
}

/** What a service takes, over all processes on the storage. */
export interface QuotaOptions {
  /** Calls within any time of the length `per`. */
  readonly requests?: number | undefined;
  /** Tokens within any time of the length `per`: estimated when a call begins, corrected by what it metered. */
  readonly tokens?: number | undefined;
  /** What calls may cost within any time of the length `per`, at the `prices` of the app: estimated, then corrected. */
  readonly cost?: number | undefined;
  /** The length of the window; "1 minute" by default. */
  readonly per?: Duration | undefined;
  /** Calls at the same time. */
  readonly concurrent?: number | undefined;
  /** Runs with different keys have a quota each: a text, or a function of the run, such as `({ tags }) => tags.tenant`. */
  readonly key?: string | ((run: QuotaRun) => string | undefined) | undefined;
}

/** A run that takes from a quota. */
export interface QuotaRun {
  readonly runId: string;
  readonly workflow: string;
  readonly tags: Readonly<Record<string, string>>;
  /** For whom the run was started; missing when nobody said. */
  readonly scope?: string | undefined;
}

/** The quota that a call takes from, and how many tokens it may use; by default its estimate, or what such calls used lately. */
export type StepQuota = string | { readonly name: string; readonly tokens?: number | undefined };

/** What a call will use, about: for quotas and budgets. A function is called only when the work is done. */
export type Estimate = Usage | (() => Usage);

/** The right to call a service once. */
export interface Permit {
  /** The call is over: it has used this, or has failed with this error. */
  settle(usage: readonly Usage[] | undefined, thrown?: unknown): Promise<void>;
  /** There is no call after all. */
  giveBack(): Promise<void>;
}

export interface PermitRequest {
  readonly quota: StepQuota;
  readonly run: QuotaRun;
  /** The call, in messages. */
  readonly where: string;
  readonly estimate?: Estimate | undefined;
  /** The caller cannot be parked: it waits as long as it takes. */
  readonly stays?: true;
  readonly isOver: () => boolean;
}

/** Waits for a permit. `null` when the call need not wait any longer; a number of milliseconds when it is to ask again later. */
export type Permits = (request: PermitRequest) => Promise<Permit | number | null>;

/** What is known about an attempt that began and whose end was not recorded. */
export interface Uncertain {
  readonly key: string;
  readonly attempt: number;
  /** When it began, in milliseconds since the epoch. */
  readonly startedAt: number;
  /** The key that the work passed to the service: use it to ask that service. */
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
}

/**
 * The answer about an uncertain attempt: it completed with this value, it is to be repeated, or it failed.
 */
export type Resolution =
  | { readonly status: "completed"; readonly value?: unknown }
  | { readonly status: "retry" }
  | { readonly status: "failed"; readonly message: string };

/**
 * After a crash in the middle of an attempt: `retry` runs the work again, `suspend` asks a person (the answer
 * is a `Resolution`), a function finds out by itself.
 */
export type OnUncertain = "retry" | "suspend" | ((uncertain: Uncertain) => Resolution | Promise<Resolution>);
