/** The interface through which the engine drives child runs. It keeps the engine from importing `runs/`. */

import type { Json } from "../values/codec/tags.ts";
import type { Definition } from "./definition.ts";
import type { ChildOf, Fact, SpawnedBy, TreeBudget } from "../journal/entry.ts";
import type { RunHead } from "../ports/storage.ts";
import type { Outcome } from "../journal/outcome.ts";

export interface ChildRun {
  readonly runId: string;
  readonly definition: Definition;
  readonly input: Json;
  readonly childOf: ChildOf;
  /** The life of the parent, which needs what an earlier one may have cancelled. */
  readonly life: number;
  /** Budgets from which it spends. */
  readonly budgets: readonly TreeBudget[];
  /**
   * For a child that an earlier drive has opened: false when it is missing because its parent was deleted, and it with
   * the parent.
   */
  readonly isNeeded?: () => Promise<boolean>;
}

/** A run that is cancelled because of the run above it. */
export interface UnneededChild extends Pick<ChildRun, "runId" | "life"> {
  readonly workflow: string;
  /** How it is linked to that run. */
  readonly link: { readonly childOf: ChildOf } | { readonly spawnedBy: SpawnedBy };
}

/** A run to spawn, and the call that asks for it. */
export interface SpawnRequest extends Pick<ChildRun, "definition" | "input" | "budgets"> {
  readonly by: string;
  readonly key: string;
  readonly after: number;
  readonly where: string;
  /** What the call declares as its input. */
  readonly declared: string;
  readonly options: {
    readonly id?: string | undefined;
    readonly ifExists?: string | undefined;
    readonly onParentEnd?: string | undefined;
  };
  /** The call is recorded. */
  readonly opened: boolean;
}

/** Implemented by the driver of the parent run. */
export interface Children {
  /** Throws if a workflow cannot run in the app of its parent. */
  assertSameApp(definition: Definition, kind: "child" | "spawn"): void;
  /**
   * Creates the run if it is missing, and drives it until it stops. `ending`: it was cancelled because its parent ends, or
   * does not need it. `lost`: an earlier life of its parent has ended it, and it cannot go on.
   */
  drive(child: ChildRun): Promise<Outcome<unknown> | "ending" | "lost">;
  /**
   * The head of a child, from one list of all children of the run; `undefined` when there are so few that each may be
   * driven to see where it is, or when the list does not have it.
   */
  headOf(runId: string): Promise<RunHead | undefined>;
  /** Ends a child and its own children. A child that does not exist yet can then never begin. */
  cancel(child: ChildRun): Promise<void>;
  /** The next entry of a spawn: that it is asked for; then, once the run is recorded, that it is; or why it cannot be. */
  spawn(request: SpawnRequest): Promise<Fact<Json>>;
}

/** The entry in a parent's journal that records the end of a child. */
export type ChildEnd = Extract<Fact<Json>, { kind: "child.completed" | "child.failed" }>;
