/** A thin implementation of `Context` over the engine. */

import { joinParts, sha256 } from "../values/hash.ts";
import { encode } from "../values/codec/encode.ts";
import { fingerprint } from "../values/codec/fingerprint.ts";
import type {
  Branch,
  Branches,
  CleanUp,
  Context,
  ChildOptions,
  DeadlineOptions,
  GroupOptions,
  MapOptions,
  ParallelOptions,
} from "./context.ts";
import { checkedBudget, type Budget, type BudgetOptions } from "./budgeting.ts";
import type { Definition, MessageSchemas } from "./definition.ts";
import type { Duration } from "../values/duration.ts";
import { varied, variedBy } from "./evals.ts";
import { child } from "./calls/child.ts";
import { onCancel, type OnCancelOptions } from "./calls/cleanup.ts";
import { spawn, type SpawnOptions } from "./calls/spawn.ts";
import { tag } from "./calls/tag.ts";
import type { CallEngine } from "./calls/call.ts";
import { parallel, race, type Group } from "./calls/group.ts";
import type { Scope } from "./scope.ts";
import { logOf, repeats } from "./log.ts";
import { sleep } from "./calls/sleep.ts";
import type { StepInfo } from "./calls/info.ts";
import { step, type StepOptions as AnyStepOptions } from "./calls/step.ts";
import { type Chunks, stream, type StreamOptions } from "./calls/stream.ts";
import { suspend, type SuspendOptions as AnySuspendOptions } from "./calls/suspend.ts";
import { mailOf } from "./mail.ts";
import { DurableError, show } from "../values/errors.ts";
import { branchName, type TagChanges } from "../values/run-tags.ts";
import { assertOptions } from "../values/options.ts";
import { ownerNow, runAs, tellsOwner, type Owner } from "../ports/async-context.ts";

export interface ContextParts {
  readonly engine: CallEngine;
  readonly version: string | null;
  /** Schemas of the messages that the workflow declares. */
  readonly messages: MessageSchemas | undefined;
  readonly owner: Owner;
  /** Ends the chapter. */
  readonly continueAs: (input: unknown) => Promise<never>;
  readonly fail: (error: unknown) => Promise<never>;
  /** Names of the tags that the code has set so far. */
  readonly tagNames: Set<string>;
}

/** The context of a scope. Code that it starts is marked with the run and the scope that it belongs to. */
export function createContext(parts: ContextParts, scope: Scope): Context {
  const { engine } = parts;
  const branch = (fn: Branch) => (inner: Scope) => {
    const context = createContext(parts, inner);
    return runAs({ ...parts.owner, path: inner.path, context }, () => fn(context));
  };
  const draw = (kind: string, name = ""): string => {
    engine.placement.assertOutsideSteps(`ctx.${kind}()`);
    const count = scope.count(`${kind}[${name}]`);
    return joinParts([engine.journal.seedAt(engine.replay.delivered), scope.path, kind, name, count]);
  };
  // The overloads of Context are checked at its interface; inside, values are unknown.
  const context = {
    [budgeted]: (options: number | BudgetOptions) => engine.budgets.add(scope, options),
    [varied]: variedBy(engine.options.off, engine.journal),
    runId: engine.journal.runId,
    version: parts.version,
    get signal() {
      return scope.signal;
    },
    step: (name: string, work: (info: StepInfo) => unknown, options: AnyStepOptions = {}) => {
      if (options.compensate !== undefined) checkedWork(options.compensate, "step", name);
      return step(engine, { scope, name }, checkedWork(work, "step", name), options);
    },
    stream: (name: string, producer: (info: StepInfo) => Chunks<unknown>, options: StreamOptions = {}) =>
      stream(engine, { scope, name }, checkedWork(producer, "stream", name), options),
    suspend: (name: string, options: AnySuspendOptions = {}) => suspend(engine, { scope, name }, options),
    ...mailOf(engine, scope, parts.messages),
    ...groupsOf(engine, scope, branch),
    child: (workflow: AnyChild, input?: unknown, options: ChildOptions = {}) => {
      assertOptions(options, "name deadline was", "ctx.child");
      const given = givenTo(engine, "child", workflow, input);
      const { name = given.definition.name, deadline, was } = options;
      return child(engine, { scope, name }, { ...given, deadline, was });
    },
    spawn: (workflow: AnyChild, input?: unknown, options: SpawnOptions = {}) =>
      spawn(engine, scope, givenTo(engine, "spawn", workflow, input), options),
    tag: (changes: TagChanges) => tag(engine, scope, parts.tagNames, changes),
    sleep: (until: Duration | Date, options: GroupOptions = {}) => {
      assertOptions(options, "name", "ctx.sleep");
      return sleep(engine, { scope, name: options.name ?? "sleep" }, until);
    },
    onCancel: (fn: CleanUp, options: OnCancelOptions = {}) =>
      onCancel(engine, scope, checkedWork(fn, "onCancel", "..."), options),
    continueAs: parts.continueAs,
    fail: parts.fail,
    get log() {
      return logOf(engine, scope.path, () => repeats(engine));
    },
    now: () => engine.replay.clock,
    random: (name?: string) => Number.parseInt(hex(sha256(draw("random", name))).slice(0, 13), 16) / 2 ** 52,
    uuid: (name?: string) => uuidFrom(hex(sha256(draw("uuid", name)))),
  };
  return context as unknown as Context;
}

/** Where a context has what sets its budget. Not a member, because no workflow calls it. */
const budgeted = Symbol();

/**
 * Limits what the run, or a branch with the context of that branch, may spend: what its steps meter, at the `prices` of the app.
 * Before a call that would pass the limit, the run suspends, and a person raises it or ends the run.
 * @example durableBudget(ctx, { most: 5, onLimit: "suspend" });
 */
export function durableBudget(ctx: Pick<Context, "runId">, options: number | BudgetOptions): Budget {
  checkedBudget(options, `run ${ctx.runId}`);
  return (ctx as unknown as Record<typeof budgeted, (options: number | BudgetOptions) => Budget>)[budgeted](
    options,
  );
}

/**
 * The context of the workflow, or of its branch, whose code is running now; `undefined` outside of workflows and in the
 * work of a step.
 */
export function currentContext(): Context | undefined {
  if (!tellsOwner)
    throw new DurableError(
      "invalid-options",
      "This runtime has no AsyncLocalStorage, so the run cannot be found. Pass ctx.",
    );
  const { step, context } = ownerNow() ?? {};
  return step === null ? (context as Context) : undefined;
}

/**
 * The attempt of a step or stream whose work is running now, so that code inside can meter what it uses; `undefined` elsewhere, and
 * where the runtime cannot tell.
 */
export function currentStep(): StepInfo | undefined {
  return ownerNow()?.info as StepInfo | undefined;
}

type InBranch = (fn: Branch) => (scope: Scope) => unknown;
type Given = Parameters<typeof child>[2];
type AnyChild = { readonly name: string; readonly definition: Definition };
type MapFunction = (ctx: Context, item: unknown, index: number) => unknown;

/** What a child or a spawned run gets. */
function givenTo(
  { journal, options }: CallEngine,
  kind: "child" | "spawn",
  workflow: AnyChild,
  input: unknown,
): Given {
  const { definition } = workflow ?? {};
  if (typeof definition?.body !== "function")
    throw new DurableError("invalid-options", `ctx.${kind} needs a workflow from durable().`);
  options.children.assertSameApp(definition, kind);
  const where = `input of ${kind} "${definition.name}" of run ${journal.runId}`;
  return { definition, input: encode(input, where), fingerprint: fingerprint(input, where) };
}

/** The calls that run branches. */
function groupsOf(engine: CallEngine, scope: Scope, branch: InBranch) {
  return {
    parallel: (branches: Branches, options: ParallelOptions = {}) => {
      assertOptions(options, "name concurrency mode deadline", "ctx.parallel");
      const group = groupOf("parallel", branches, options, branch);
      const { names } = group;
      const shape = (results: readonly unknown[]): unknown =>
        names === null ? results : Object.fromEntries(names.map((name, i) => [name, results[i]]));
      return parallel(engine, scope, { ...group, shape });
    },
    race: (branches: Readonly<Record<string, Branch>>, options: DeadlineOptions = {}) => {
      assertOptions(options, "name deadline", "ctx.race");
      return race(engine, scope, groupOf("race", branches, options, branch));
    },
    map: (items: readonly unknown[], fn: MapFunction, options: MapOptions<unknown> = {}) => {
      assertOptions(options, "name key concurrency deadline", "ctx.map");
      return parallel(engine, scope, mapOf({ items, fn }, options, branch));
    },
  };
}

function mapOf(
  { items, fn }: { readonly items: readonly unknown[]; readonly fn: MapFunction },
  { key, name = "map", concurrency, deadline }: MapOptions<unknown>,
  branch: InBranch,
): Group {
  const branches = items.map(
    (item, index): Branch =>
      (ctx) =>
        fn(ctx, item, index),
  );
  const group = groupOf("parallel", branches, { name, concurrency, deadline }, branch);
  if (key === undefined) return group;
  const keys = items.map((item, index) => key(item, index));
  const seen = new Set<string>();
  const twice = keys.find((one) => seen.size === seen.add(one).size);
  // A key that is not a text is refused with the group.
  const names = keys.map((one) => (typeof one === "string" ? branchName(one) : one));
  if (twice === undefined) return { ...group, names };
  throw new DurableError(
    "invalid-options",
    `Two items of ctx.map "${name}" have the key ${show(twice)}. Use unique keys.`,
  );
}

function groupOf(kind: Group["kind"], branches: Branches, options: ParallelOptions, branch: InBranch): Group {
  const { name = kind, concurrency = Number.POSITIVE_INFINITY, mode = "all", deadline } = options;
  if (!(concurrency >= 1)) {
    throw new DurableError("invalid-options", `The concurrency of ${kind} "${name}" must be at least 1.`);
  }
  const names = Array.isArray(branches) ? null : Object.keys(branches);
  const functions = Object.values(branches).map(branch);
  return { kind, name, names, branches: functions, concurrency, mode, deadline };
}

function checkedWork<W>(work: W, kind: "step" | "stream" | "onCancel", name: string): W {
  if (typeof work === "function") return work;
  throw new DurableError(
    "invalid-options",
    `ctx.${kind}("${name}", ...) needs a function, not ${typeof work}: pass () => work().`,
  );
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function uuidFrom(text: string): string {
  const variant = ((Number.parseInt(text[16] as string, 16) & 3) | 8).toString(16);
  return `${text.slice(0, 8)}-${text.slice(8, 12)}-4${text.slice(13, 16)}-${variant}${text.slice(17, 20)}-${text.slice(20, 32)}`;
}
