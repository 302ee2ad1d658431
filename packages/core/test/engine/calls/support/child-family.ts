/** Runs that have children: which run did what, and the status of each. */

import type { Context, RunHead, Storage } from "@durable/core";
import type { Lab } from "../../../support/behaviour-lab.ts";
import { heads } from "../../../support/worker-runs.ts";

/** Bodies that note who ran them: `run key`. */
export class Ran {
  readonly bodies: string[] = [];

  /** Work that gives a value, and says so. */
  work<T>(ctx: Context, value: T) {
    return ({ key }: { readonly key: string }): T => {
      this.bodies.push(`${ctx.runId} ${key}`);
      return value;
    };
  }

  /** How often each body was begun, the most often begun first. */
  get counts(): number[] {
    return [...Map.groupBy(this.bodies, (body) => body).values()]
      .map((list) => list.length)
      .toSorted((a, b) => b - a);
  }
}

/** The children of a run, oldest first. Its forks have it as parent, too, and as ancestor. */
export async function childrenOf(storage: Storage, parent: string): Promise<RunHead[]> {
  const all = (await heads(storage)).filter((head) => head.parent === parent);
  return all.filter(({ ancestors }) => ancestors.length === 0).toReversed();
}

/** The one child of a run. */
export async function childOf({ storage }: Pick<Lab, "storage">, parent = "r"): Promise<RunHead> {
  const [child, ...more] = await childrenOf(storage, parent);
  if (child === undefined || more.length > 0) throw new Error(`${parent} has ${more.length + 1} children.`);
  return child;
}

/** Statuses of all runs, by id. */
export async function standings(storage: Storage): Promise<Record<string, string>> {
  return Object.fromEntries((await heads(storage)).map(({ runId, status }) => [runId, status]));
}
