/**
 * Workflows as the simulator runs them: built from trees, with the workflows of their children and the
 * expected output of calm trees. Proven in test/sim.test.ts.
 */

import type { Context, StandardSchema } from "@durable/core";
import type { HostOptions } from "@durable/core/types";
import { spawnedPrefix, type FlowPlan } from "./plan.ts";
import type { Process } from "./process.ts";
import { childrenOf, foreignMsOf, isForeign, isMailed, swapsNames, type Tree } from "./tree.ts";
import { carriedOn } from "./chapter-inputs.ts";
import { bodyOf } from "./interpret.ts";
import type { Environment } from "./environment.ts";
import { calmAnswer, calmChunks, calmValue } from "./step-bodies.ts";

/** The version of the code that a process runs. */
export type Code = "first" | "changed";

/** A wait that is about to be answered. */
export interface AskedWait {
  readonly key: string;
  readonly expires: boolean;
  /** For a question about an uncertain attempt: the effects of that attempt. */
  readonly effects?: readonly unknown[];
}

/** A workflow as the simulator runs it. */
export interface Program {
  readonly name: string;
  readonly input?: unknown;
  /** Validates the input, if the workflow has a schema. */
  readonly schema?: StandardSchema;
  /** Further options of the workflow. */
  readonly options?: object;
  /** Limits that its steps are under. */
  readonly quotas?: HostOptions["quotas"];
  body(code: Code, environment: Environment): (ctx: Context, input: never) => unknown;
  /** Runs the work of a step; calls it directly by default. */
  readonly perform?: (process: Process, key: string, work: () => unknown) => Promise<unknown>;
  /** The answer to a wait, or null to let it time out; `count` makes answers distinct. */
  answer(wait: AskedWait, count: number): { readonly value: unknown } | null;
  /** An answer that fits no checked wait; absent where all answers must fit. */
  readonly rubbish?: unknown;
  /** Apps do not have it; the drivers of its parents run it. */
  readonly isPrivate?: boolean;
  /** Runs of the first version fit the changed one. */
  readonly compatible?: boolean;
  /** Strands that await something other than `ctx` may swap what they recorded. */
  readonly swaps?: boolean;
  /** How long all its foreign awaits take. */
  readonly foreignMs?: number;
  /** True when a run may end in failure. */
  readonly mayFail: boolean;
  /** What is wrong with this output of unchanged code, or null. */
  judge(output: unknown): string | null;
}

/** The programs of a flow: its own, and those of the children in its trees. */
export function treePrograms(flow: FlowPlan, { calm, privateChildren = false }: TreeSettings): Program[] {
  const trees = new Map<string, { tree?: Tree; changed?: Tree }>();
  collect(flow.tree, (name, tree) => trees.set(name, { ...trees.get(name), tree }));
  collect(flow.changed, (name, changed) => trees.set(name, { ...trees.get(name), changed }));
  const children = [...trees].flatMap(([name, { tree, changed }]): Program[] => {
    // A version that no longer calls a child still has its code.
    const [one, other] = [tree ?? changed, changed ?? tree];
    if (one === undefined || other === undefined) return [];
    const { compatible = false } = flow;
    const program = treeProgram({ name, tree: one, changed: other, compatible }, calm);
    return [{ ...program, isPrivate: privateChildren && !name.startsWith(spawnedPrefix) }];
  });
  return [treeProgram(flow, calm), ...children];
}

interface TreeSettings {
  readonly calm: boolean;
  readonly privateChildren?: boolean;
}

function collect(tree: Tree, found: (name: string, tree: Tree) => void): void {
  if (tree.kind === "child" || tree.kind === "spawn") found(tree.name, tree.node);
  for (const inner of childrenOf(tree)) collect(inner, found);
}

function treeProgram({ name, tree, changed, compatible = false }: FlowPlan, calm: boolean): Program {
  const expected = calm ? JSON.stringify(calmResult(tree)) : null;
  return {
    name,
    body: (code, environment) => bodyOf(code === "changed" ? changed : tree, environment),
    answer: (wait, count) => ({ value: answerTo(wait, count, calm) }),
    rubbish: "rubbish",
    compatible: compatible && !swapsNames(tree, (node) => isForeign(node) || isMailed(node)),
    swaps: [tree, changed].some((one) => swapsNames(one, isForeign)),
    foreignMs: Math.max(foreignMsOf(tree), foreignMsOf(changed)),
    mayFail: !calm,
    judge: (output) =>
      expected === null || expected === JSON.stringify(output) ? null : `instead of ${expected}`,
  };
}

function answerTo({ key, effects }: AskedWait, count: number, calm: boolean): unknown {
  if (effects === undefined) return calm ? calmAnswer(nameOf(key)) : { ok: `said ${count}` };
  // Some answers look up the effect, some guess; a calm plan never guesses.
  const [value] = effects;
  if (calm || count % 4 === 0)
    return value === undefined ? { status: "retry" } : { status: "completed", value };
  const guesses = [
    { status: "retry" },
    { status: "completed", value: `said ${count}` },
    { status: "failed", message: `said ${count}` },
  ];
  return guesses[(count % 4) - 1];
}

export function nameOf(key: string): string {
  return key.slice(key.lastIndexOf("/") + 1).replace(/#\d+$/, "");
}

/** The output of a run of a calm tree. */
function calmResult(tree: Tree): unknown {
  if (tree.kind !== "chapters") return calmOutput(tree);
  const values = tree.nodes.map((node, i) => calmOutput(node, `0.${i}`));
  return [values.slice(0, -1).reduce<string>(carriedOn, ""), values.at(-1)];
}

/** The value of a calm node. */
function calmOutput(node: Tree, place = "0"): unknown {
  const inner = (child: Tree, index: number): unknown => calmOutput(child, `${place}.${index}`);
  switch (node.kind) {
    case "step":
      return node.fails === 9 ? undefined : calmValue(node, place);
    case "stream":
      return calmChunks(node, place);
    case "child":
      return calmResult(node.node);
    case "spawn":
      return node.name;
    case "tag":
      return node.value;
    case "map":
      return Array.from({ length: node.items }, (_, i) => inner(node.node, i));
    case "sleep":
      return node.ms;
    case "suspend":
    case "receive":
      return calmAnswer(node.name);
    case "report":
      return node.size;
    case "sequence":
    case "chapters":
    case "parallel":
      return node.nodes.map(inner);
    case "loop":
      return Array.from({ length: node.times }, (_, i) => inner(node.node, i));
    case "attempt":
      return node.node.kind === "step" && node.node.fails === 9 ? "step-failed" : inner(node.node, 0);
    case "killer":
    case "cleanup":
      return undefined;
    case "foreign":
    case "stray":
    case "fork":
    case "race":
      throw new Error(`A ${node.kind} is not calm.`);
  }
}
