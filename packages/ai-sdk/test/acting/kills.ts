/**
 * Kills a program that acts on words, and starts it again with a model that says other words. Checked in every life:
 *
 * A1. The run comes to its end: it is never blocked, and never fails.
 * A2. Nothing is warned of that is no fault of the program.
 * A3. No call is lost or doubled: of each content the provider is asked exactly for those demands that were not recorded
 *     when the life began. Calls that were under way at a kill are asked for again, and no others.
 */

import { durable, MemoryStorage, type Context, type Outcome } from "@durable/core";
import type { Entry } from "@durable/core/types";
import { systemWorld } from "@durable/core/storage";
import { faultyStorage, type Fault } from "@durable/testing";
import { secret } from "../support/lab.ts";
import type { Program } from "./programs.ts";
import { recordedIds, stageOf, type LifeOptions, type Seen } from "./stage.ts";

type Timing = Pick<LifeOptions, "paceMs" | "callMs">;

/** One kill: at which append, and on which side of it. */
export interface Kill extends Timing {
  readonly append: number;
  readonly fault: Fault;
  /** An append of the second life at which it is killed, too. */
  readonly again?: number;
}

export interface Survived {
  readonly kills: number;
  readonly appends: number;
  readonly requests: number;
  readonly troubles: readonly string[];
}

interface Lived {
  /** `null` when it was killed. */
  readonly outcome: Outcome<unknown> | null;
  readonly seen: readonly Seen[];
  readonly appends: number;
  readonly warnings: readonly string[];
}

const neverSettles = new Promise<never>(() => {});

export async function survive(program: Program, kill: Kill): Promise<Survived> {
  const cuts = [kill.append, kill.again ?? 0];
  const content = new Map<string, string>();
  const troubles: string[] = [];
  let storage = new MemoryStorage();
  let [kills, requests, appends] = [0, 0, 0];
  for (let life = 1; ; life++) {
    const before = recordedIds(await entriesOf(storage));
    const cut = cuts[life - 1] ?? 0;
    const lived = await live(program, storage, { ...kill, life, append: cut });
    appends ||= lived.appends;
    for (const seen of lived.seen)
      if ("request" in seen) {
        content.set(seen.id, seen.request);
        requests += 1;
      }
    troubles.push(...faults(lived.seen, before, content).map((trouble) => `life ${life}: ${trouble}`));
    troubles.push(...lived.warnings.map((warning) => `life ${life}: warning: ${warning}`));
    if (lived.outcome !== null) {
      const { outcome } = lived;
      if (outcome.status !== "completed")
        troubles.push(`life ${life}: ${outcome.status} ${String("error" in outcome ? outcome.error : "")}`);
      return { kills, appends, requests, troubles };
    }
    kills += 1;
    storage = await copied(storage);
  }
}

/** A3. */
export function faults(
  seen: readonly Seen[],
  before: ReadonlySet<string>,
  content: ReadonlyMap<string, string>,
): string[] {
  const counts = new Map<string, { demands: number; recorded: number; requests: number }>();
  const of = (what: string) => {
    const count = counts.get(what) ?? { demands: 0, recorded: 0, requests: 0 };
    counts.set(what, count);
    return count;
  };
  for (const id of before) of(content.get(id) ?? "?").recorded += 1;
  for (const one of seen) {
    if ("demand" in one) of(one.demand).demands += 1;
    if ("request" in one) of(one.request).requests += 1;
  }
  return [...counts].flatMap(([what, { demands, recorded, requests }]) => {
    // A life that was killed may not have come to its last demands' requests.
    return requests <= Math.max(0, demands - recorded)
      ? []
      : [`${what}: ${demands} demands, ${recorded} recorded, ${requests} requests`];
  });
}

async function live(
  program: Program,
  storage: MemoryStorage,
  { life, append, fault, paceMs, callMs }: Kill & { readonly life: number },
): Promise<Lived> {
  const seen: Seen[] = [];
  const warnings: string[] = [];
  const alive = { is: true };
  const saw = (one: Seen): void => {
    if (alive.is) seen.push(one);
  };
  const warn = (message: string): void => {
    // True of a program whose own steps act on words.
    if (alive.is && !message.includes("after awaiting something other than ctx")) warnings.push(message);
  };
  const world = { ...systemWorld, warn };
  const faulty = faultyStorage(storage, {
    world,
    plan: (operation, index) => (operation === "append" && index === append ? fault : null),
  });
  const body = async (ctx: Context): Promise<unknown> => {
    const said = await program(ctx, stageOf(ctx, { life, paceMs, callMs, saw }));
    return alive.is ? said : neverSettles;
  };
  const flow = durable("acting", body, { storage: faulty, secret, world });
  const outcome = await Promise.race([flow.run(undefined, { id: "r" }), faulty.died.then(() => null)]);
  alive.is = false;
  return { outcome, seen: [...seen], appends: faulty.counts.append, warnings: [...warnings] };
}

/** What the dead process left, without its lease. */
export async function copied(storage: MemoryStorage): Promise<MemoryStorage> {
  const next = new MemoryStorage();
  const [head] = (await storage.list()).runs;
  if (head === undefined) return next;
  const { batches } = await storage.read(head.locator);
  for (const [position, batch] of batches.entries())
    await next.append({ locator: head.locator, position, batch, head: { ...head, wakeAt: 0 } });
  return next;
}

async function entriesOf(storage: MemoryStorage): Promise<Entry[]> {
  if ((await storage.list()).runs.length === 0) return [];
  return durable("acting", async () => {}, { storage, secret })
    .get("r")
    .entries();
}
