/**
 * A workflow whose runs wait for their time, their rate and the limit of a service, in some plans. Drawn from a random
 * stream of its own, so that all else in a plan stays as it is. Proven in test/sim-fleet.test.ts.
 */

import type { StartOptions } from "@durable/core";
import type { FlowOptions, HostOptions } from "@durable/core/types";
import { seeded, type Random } from "@durable/testing";
import type { Action, Plan, QueuedStart, QueuePlan } from "./plan.ts";
import type { Program } from "./program.ts";
import { changedTree, type Tree } from "./tree.ts";

/** The name of the limit. */
const service = "service";
/** The name of the steps under it. */
export const limitedStep = "call";
/** What such a step reserves where the limit counts tokens. */
const tokensEach = 10;

const workflow = "flow-of-the-queue";

/** The same plan, in most cases with such a workflow, and with an operator who interferes with its runs. */
export function withQueue(seed: number, plan: Plan): Plan {
  const random = seeded(seed * 3_628_273_133 + 13);
  if (!random.chance(0.55)) return plan;
  const fair = drawnFair(seed);
  const queue: QueuePlan = {
    flow: plan.flows.length,
    ...(fair !== undefined && { fair }),
    ...(random.chance(0.6)
      ? { rate: { limit: random.between(1, 3), perMs: random.pick([5_000, 12_000]) } }
      : {}),
    ...(random.chance(0.6) ? { limit: drawnLimit(random) } : {}),
    starts: Array.from({ length: random.between(4, 9) }, (_, i) => drawnStart(random, i)),
  };
  const tree = queuedTree(random, queue, plan.calm);
  const changed = random.chance(0.5) ? changedTree(random, tree) : tree;
  return {
    ...plan,
    flows: [...plan.flows, { name: workflow, tree, changed, ...(changed === tree && { compatible: true }) }],
    queue,
    actions: [...plan.actions, ...interference(random)].toSorted((a, b) => a.at - b.at),
  };
}

/** Drawn from a random stream of its own, as the plan of the queue is. */
function drawnFair(seed: number): QueuePlan["fair"] {
  const random = seeded(seed * 2_246_822_519 + 29);
  return random.chance(0.5) ? { keys: random.pick([2, 3]), weight: random.pick([1, 1, 3]) } : undefined;
}

/** What happens to the runs while they wait, or work. */
function interference(random: Random): Action[] {
  if (random.chance(0.4)) return [];
  const kinds = ["cancel", "cancel", "fork", "retry-run", "pause-run", "delete", "advance"] as const;
  return Array.from({ length: random.between(1, 6) }, () => ({
    kind: random.pick(kinds),
    at: random.between(500, 15_000),
    target: random.between(0, 99),
    ms: random.pick([300, 5_000]),
    of: workflow,
  }));
}

function drawnLimit(random: Random): NonNullable<QueuePlan["limit"]> {
  return {
    calls: random.pick([2, 5]),
    perMs: random.pick([3_000, 10_000]),
    concurrent: random.pick([1, 2]),
    tokens: random.chance(0.5),
  };
}

function drawnStart(random: Random, number: number): QueuedStart {
  const start = { name: `start-${number}`, at: random.between(0, 6_000), named: random.chance(0.5) };
  const kind = random.pick(["plain", "delay", "at", "debounce", "debounce", "singleton", "priority"]);
  if (kind === "plain") return start;
  const ms = random.pick([500, 3_000, 12_000]);
  if (kind === "delay" || kind === "at") return { ...start, [`${kind}Ms`]: ms };
  if (kind === "priority") return { ...start, priority: random.pick([-5, 5, 1_000]) };
  return { ...start, [kind]: random.pick(["a", "b"]), ...(kind === "debounce" ? { delayMs: ms } : {}) };
}

function queuedTree(random: Random, { limit }: QueuePlan, calm: boolean): Tree {
  const step = { kind: "step", fails: 0, timeoutMs: null, typed: false } as const;
  const call = {
    ...step,
    name: limitedStep,
    ms: random.pick([50, 700, 6_000, 20_000]),
    fails: random.pick(calm ? [0, 0, 1] : [0, 0, 1, 9]),
  };
  return {
    kind: "sequence",
    nodes: [
      limit === undefined ? call : { ...call, limit: limitOf(limit) },
      { kind: "sleep", name: "rest", ms: random.pick([5, 2_000]) },
      { ...step, name: "file", ms: random.pick([0, 300]) },
    ],
  };
}

function limitOf({
  tokens,
}: NonNullable<QueuePlan["limit"]>): NonNullable<(Tree & { kind: "step" })["limit"]> {
  return tokens ? { name: service, tokens: tokensEach } : service;
}

/** The limits of an app: those of its programs, and that of the queue. */
export function limitsFor({ queue }: Plan, programs: readonly Program[]): Pick<HostOptions, "quotas"> {
  const given = programs.find((program) => program.quotas !== undefined)?.quotas;
  if (queue?.limit === undefined) return { quotas: given };
  const { calls, perMs: per, concurrent, tokens } = queue.limit;
  const counted = tokens ? { tokens: calls * tokensEach } : { requests: calls };
  return { quotas: { [service]: { ...counted, per, concurrent } } };
}

/** The name of the workflow of the queue. */
export function queuedWorkflow({ queue, flows }: Plan): string | undefined {
  return queue && flows[queue.flow]?.name;
}

/** The rate of a workflow of the plan, and its keys that take turns. */
export function flowFor(plan: Plan, name: string): Pick<FlowOptions<unknown>, "rate" | "fair"> {
  const { rate, fair } = plan.queue ?? {};
  if (queuedWorkflow(plan) !== name) return {};
  return {
    ...(rate && { rate: { max: rate.limit, per: rate.perMs } }),
    ...(fair && { fair: { key: (input: unknown) => keyOf(input, fair.keys), weight: fair.weight } }),
  };
}

/** By the number of the start, which its input ends with. */
function keyOf(input: unknown, keys: number): string {
  const [number = "0"] = /\d+(?=\D*$)/.exec(JSON.stringify(input) ?? "") ?? [];
  return `key-${Number(number) % keys}`;
}

/** The options of one start, by the clock of its process. */
export function optionsOf(start: QueuedStart, now: number): StartOptions {
  const { name, named, delayMs, atMs, debounce, singleton, priority } = start;
  return {
    ...(named ? { id: `run-${name}` } : {}),
    ...(delayMs === undefined || debounce !== undefined ? {} : { delay: delayMs }),
    ...(atMs === undefined ? {} : { at: new Date(now + atMs) }),
    ...(debounce === undefined ? {} : { debounce: { key: debounce, wait: delayMs ?? 0 } }),
    ...(singleton === undefined ? {} : { singleton }),
    ...(priority === undefined ? {} : { priority }),
  };
}

/** True for an attempt under the limit. */
export function isLimited(plan: Plan, workflow: string | undefined, key: string): boolean {
  return plan.queue?.limit !== undefined && queuedWorkflow(plan) === workflow && key === limitedStep;
}
