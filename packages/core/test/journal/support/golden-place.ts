/** Where golden journals are made, and what all makers need. */

import { createApp, MemoryStorage, type AnyWorkflow, type Outcome, type Storage } from "@durable/core";
import type { Cipher } from "@durable/core/storage";
import { virtualWorld, type VirtualWorld } from "@durable/testing";
import { goldenFlows, pace } from "./golden-flows.ts";
import { goldenFlowsOfEnds } from "./golden-flows-ends.ts";
import { goldenFlowsOfStreams } from "./golden-flows-streams.ts";
import { goldenFlowsFind } from "./golden-flows-find.ts";
import { goldenFlowsOfChapters } from "./golden-flows-chapters.ts";

export interface Place {
  readonly world: VirtualWorld;
  readonly storage: Storage;
  readonly encryption?: Cipher;
}

/** Each makes a run, and says where it is and what it is called. */
export type Makers = Readonly<Record<string, () => Promise<readonly [Place, string]>>>;

export const secret = "the secret of the golden journals";

export const place = (): Place => {
  const world = virtualWorld();
  pace.wait = () => new Promise((resolve) => void world.timer(250, resolve));
  return { world, storage: new MemoryStorage({ now: () => world.now() }) };
};

const all: readonly AnyWorkflow[] = [
  ...goldenFlows,
  ...goldenFlowsOfStreams,
  ...goldenFlowsOfChapters,
  ...goldenFlowsFind,
  ...goldenFlowsOfEnds,
];

export const appOf = (at: Place, workflows = all) => createApp({ ...at, secret, workflows });

export function tokenOf(outcome: Outcome<unknown> | undefined, name: string): string {
  const points = outcome?.status === "suspended" ? outcome.waiting : [];
  const point = points.find((one) => one.name === name);
  if (point === undefined) throw new Error(`No wait "${name}" in ${JSON.stringify(outcome)}`);
  return point.token;
}

/** Sleeps and retries until only the outside can help, or the run is over. */
export async function onward(at: Place, runId: string): Promise<Outcome<unknown>> {
  for (;;) {
    const outcome = await at.world.run(appOf(at).advance(runId));
    if (outcome.status !== "suspended" || outcome.wakeAt === null) return outcome;
    await at.world.advance(Math.max(0, outcome.wakeAt - at.world.now()));
  }
}
