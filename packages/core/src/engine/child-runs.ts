/** The interface through which the engine drives child runs. It keeps the engine from importing `runs/`. */

import type { Json } from "../values/codec/tags.ts";
import type { Definition } from "./definition.ts";
import type { ChildOf, Fact } from "../journal/entry.ts";
import type { RunHead } from "../ports/storage.ts";
import type { Outcome } from "../journal/outcome.ts";

export interface ChildRun {
  readonly runId: string;
  readonly definition: Definition;
  readonly input: Json;
  readonly childOf: ChildOf;
  /** A child of a run without a nonce has none either, so that every build that can drive the parent can drive it. */
  readonly plain: boolean;
}

/** A child whose result is not needed. */
export interface UnneededChild extends Pick<ChildRun, "runId" | "childOf" | "plain"> {
  readonly workflow: string;
}

/** Implemented by the driver of the parent run. */
export interface Children {
  /** Creates the run if it is missing, and drives it until it stops. */
  drive(child: ChildRun): Promise<Outcome<unknown>>;
  /**
   * The head of a child, from one list of all children of the run; `undefined` when there are so few that each may be
   * driven to see where it is, or when the list does not have it.
   */
  headOf(runId: string): Promise<RunHead | undefined>;
  /** Ends a child and its own children. A child that does not exist yet can then never begin. */
  cancel(child: ChildRun): Promise<void>;
}

/** The entry in a parent's journal that records the end of a child. */
export type ChildEnd = Extract<Fact<Json>, { kind: "child.completed" | "child.failed" }>;
