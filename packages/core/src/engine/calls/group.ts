/**
 * Branches that run concurrently: `parallel` and `race`.
 *
 * group.1. Every branch has its own space of keys, named before anything is awaited.
 * group.2. The group itself settles through plain promises, without an entry or a clock, so replay gives the same result.
 * group.3. When a group is decided early, the scopes of the other branches are closed: nothing more begins in them,
 *     their waits are closed, and outcomes of running work are recorded but not delivered.
 * group.4. When the deadline of a group fires before it is decided, all its branches that are open are given up.
 */

import type { CallEngine } from "./call.ts";
import { deadlineOf } from "../deadline.ts";
import type { Duration } from "../../values/duration.ts";
import { DurableError } from "../../values/errors.ts";
import { assertName } from "../../journal/keys.ts";
import { limits } from "../../values/limits.ts";
import { branchesInput } from "../replay.ts";
import { callDeferred, pending } from "../promise.ts";
import type { Closing, Scope } from "../scope.ts";

export type BranchFunctions = readonly ((scope: Scope) => unknown)[];

export interface Group {
  readonly kind: "parallel" | "race";
  readonly name: string;
  /** Names of the branches, or null where they are numbered. */
  readonly names: readonly string[] | null;
  readonly branches: BranchFunctions;
  readonly concurrency: number;
  readonly mode: "all" | "settled";
  readonly deadline: Duration | undefined;
  /** The result of the group, from the results of its branches. */
  readonly shape?: (results: readonly unknown[]) => unknown;
}

/** The outcome of one branch of `ctx.parallel` with `mode: "settled"`. */
export type Settled<T> =
  | { readonly status: "fulfilled"; readonly value: T }
  | { readonly status: "rejected"; readonly reason: unknown };

/** A group that is open: the scopes of its branches, and its promise. */
interface Opened {
  readonly scopes: readonly Scope[];
  readonly promise: Promise<unknown>;
  /** The group has its result, or its deadline has passed. */
  over: boolean;
  resolve(value: unknown): void;
  reject(reason: unknown): void;
}

/** Opens the group and its branches; `null` when the engine accepts no more calls. */
function open(engine: CallEngine, scope: Scope, group: Group): Opened | null {
  const { kind, name, names, branches } = group;
  const where = `${kind} "${name}" of run ${engine.journal.runId}`;
  if (branches.length > limits.branches) {
    throw new DurableError("limit", `The ${where} has more than ${limits.branches} branches. Split it.`);
  }
  for (const branch of names ?? []) assertName(branch, `A branch of ${where}`);
  const declared = names ?? branches.length;
  const entered = engine.enter({ scope, kind, name, input: branchesInput(declared) });
  if (entered === null) return null;
  const { key, after, record } = entered;
  if (record === undefined) engine.writeWithNext({ kind: `${kind}.opened`, key, after, branches: declared });
  const outcome = callDeferred<unknown>();
  const opened: Opened = {
    scopes: branches.map((_, i) => scope.branch(key, names?.[i] ?? String(i))),
    promise: outcome.promise,
    over: false,
    resolve: (value) => {
      settle();
      outcome.resolve(value);
    },
    reject: (reason) => {
      settle();
      outcome.reject(reason);
      engine.calls.rejected(key, outcome.promise);
    },
  };
  const settle = deadlineOf(engine, { scope, key, what: where }, group.deadline, (error) => {
    if (opened.over) return;
    opened.over = true;
    for (const branch of opened.scopes) giveUp(engine, branch, error);
    opened.reject(error);
  });
  return opened;
}

function giveUp(engine: CallEngine, scope: Scope, reason: unknown): void {
  close(engine, scope, "abandoned");
  scope.abort(reason);
}

function close(engine: CallEngine, scope: Scope, how: Closing): void {
  scope.close(how);
  engine.calls.close(scope.path);
}

export function parallel(engine: CallEngine, scope: Scope, group: Group): Promise<unknown> {
  const outcome = open(engine, scope, group);
  if (outcome === null) return pending();
  const { scopes } = outcome;
  const { shape = (found) => found } = group;
  const results: Settled<unknown>[] = [];
  let next = 0;
  let left = scopes.length;
  outcome.over = left === 0;
  const startNext = (): void => {
    const index = next++;
    const branch = scopes[index];
    if (branch === undefined || outcome.over) return;
    void settledOf(group, index, branch).then((result) => {
      branch.leave();
      results[index] = result;
      left -= 1;
      if (group.mode === "all" && result.status === "rejected" && !outcome.over) {
        outcome.over = true;
        scopes.forEach((other, i) => {
          if (results[i] !== undefined) return;
          // Aborted but still awaited: if its work completes nevertheless, the result is recorded.
          close(engine, other, "closed");
          other.abort(result.reason);
        });
        outcome.reject(result.reason);
      } else if (left === 0 && !outcome.over) {
        outcome.over = true;
        outcome.resolve(
          shape(group.mode === "all" ? results.map((r) => (r as { value?: unknown }).value) : results),
        );
      }
      startNext();
    });
  };
  if (outcome.over) outcome.resolve(shape([]));
  for (let i = 0; i < Math.min(group.concurrency, scopes.length); i++) startNext();
  return outcome.promise;
}

export function race(engine: CallEngine, scope: Scope, group: Group): Promise<unknown> {
  if (group.branches.length === 0) {
    throw new DurableError(
      "invalid-options",
      `The race "${group.name}" of run ${engine.journal.runId} has no branches.`,
    );
  }
  const outcome = open(engine, scope, group);
  if (outcome === null) return pending();
  const { scopes } = outcome;
  scopes.forEach((branch, index) => {
    void settledOf(group, index, branch).then((result) => {
      branch.leave();
      if (outcome.over) return;
      outcome.over = true;
      const name = group.names?.[index] ?? String(index);
      const lost = new DurableError("cancelled", `Branch "${name}" won the race "${group.name}".`);
      for (const other of scopes) if (other !== branch) giveUp(engine, other, lost);
      if (result.status === "rejected") outcome.reject(result.reason);
      else outcome.resolve({ name, value: result.value });
    });
  });
  return outcome.promise;
}

async function settledOf(group: Group, index: number, scope: Scope): Promise<Settled<unknown>> {
  try {
    return { status: "fulfilled", value: await group.branches[index]?.(scope) };
  } catch (reason) {
    return { status: "rejected", reason };
  }
}
