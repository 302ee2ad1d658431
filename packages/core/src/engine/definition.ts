/** A workflow as the engine sees it: a name and a function. */

import type { Duration } from "../values/duration.ts";
import type { Tags } from "../values/run-tags.ts";
import type { StandardSchema } from "../values/schema.ts";
import type { RetryOptions } from "./calls/retry.ts";
import type { OnUncertain } from "./calls/on-uncertain.ts";

/** What the runs and steps of a workflow have where they do not say otherwise. */
export interface Defaults {
  /** When a failed attempt of a step or stream is repeated; `false` means one attempt. */
  readonly retry?: RetryOptions | false | undefined;
  /** For each attempt of a step or stream. */
  readonly timeout?: Duration | undefined;
  /** What to do with a step that began and whose end was not recorded. */
  readonly onUncertain?: OnUncertain | undefined;
  /**
   * How long a run may take, from its start to its end, waits included. When it passes, the run fails with code
   * `deadline`.
   */
  readonly deadline?: Duration | undefined;
}

/** Schemas of messages, by topic. */
export type MessageSchemas = Readonly<Record<string, StandardSchema>>;

/** What runs have in common that share a limit: a text, or a function of the input. */
export type LimitKey<Input> = string | ((input: Input) => string);

/** Limits of a workflow that hold across processes. */
export interface FlowOptions<Input = never> {
  /** At most `limit` runs with the same key are driven at the same time. Parked runs do not count. */
  readonly concurrency?: { readonly limit: number; readonly key?: LimitKey<Input> | undefined } | undefined;
  /** At most `limit` runs with the same key begin within any time of the length `per`. */
  readonly rate?:
    | { readonly limit: number; readonly per: Duration; readonly key?: LimitKey<Input> | undefined }
    | undefined;
  /**
   * Due runs with a higher priority are taken first: as if they had become due so many seconds earlier. From
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
  /** Tags of every run, or a function that makes them from its input. */
  readonly tags?: Tags | ((input: never) => Tags) | undefined;
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
