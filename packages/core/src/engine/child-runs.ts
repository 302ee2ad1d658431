/** What the engine asks of whoever starts and drives runs: an arrow that would otherwise point back. */

import type { Json } from "../values/codec/tags.ts";
import type { Definition } from "./definition.ts";
import type { ChildOf, Fact } from "../journal/entry.ts";
import type { Outcome } from "../journal/outcome.ts";

export interface ChildRun {
  readonly runId: string;
  readonly definition: Definition;
  readonly input: Json;
  readonly childOf: ChildOf;
}

/** What the engine asks of whoever drives runs. */
export interface Children {
  /** Creates the run if it is not there, and drives it on until it stops. */
  drive(child: ChildRun): Promise<Outcome<unknown>>;
  /** Ends it, and those below it; one that is not there yet can never begin. */
  cancel(child: {
    readonly runId: string;
    readonly workflow: string;
    readonly childOf: ChildOf;
  }): Promise<void>;
}

/** What a parent's journal says of the end of a child. */
export type ChildEnd = Extract<Fact<Json>, { kind: "child.completed" | "child.failed" }>;
