/**
 * The features of an app, as tests: one call per storage. Where the storage has what a feature needs, its programs must keep
 * their promises. Where it has not, the feature must be refused by name.
 *
 *     storageFeatures("SqliteStorage", async ({ now }) => {
 *       const storage = new SqliteStorage({ path, now });
 *       return { storage, close: () => storage.close() };
 *     });
 *
 * It begins where `storageConformance` ends: that one asks a storage, this one an app on it. Proven in test/features.test.ts.
 */

import { describe, it } from "vitest";
import type { Open } from "../conformance/checks.ts";
import { virtualWorld } from "../virtual-world.ts";
import { claims, type Feature, type Program } from "./feature.ts";
import { blocked, pausedRuns, pausedWorkflows, purging, retrying, scoring } from "./steering.ts";
import { answers, children, chapters, droppedChapters, messages, streams, undoing } from "./runs.ts";
import { budgets, concurrency, fairShares, namedWorkers, rates, stepLimits, treeBudgets } from "./limits.ts";
import { copies, forks, versions } from "./forks.ts";
import { debounced, delays, priorities, singletons } from "./starts.ts";
import { FeatureLab } from "./lab.ts";
import { lists, tags } from "./finding.ts";
import { schedules } from "./schedules.ts";

/** Every feature, in the order of the table. */
export const features: readonly Feature[] = [
  answers,
  messages,
  streams,
  children,
  chapters,
  droppedChapters,
  forks,
  undoing,
  retrying,
  lists,
  tags,
  pausedRuns,
  scoring,
  pausedWorkflows,
  blocked,
  purging,
  copies,
  versions,
  delays,
  schedules,
  priorities,
  singletons,
  debounced,
  concurrency,
  fairShares,
  rates,
  stepLimits,
  budgets,
  treeBudgets,
  namedWorkers,
];

/** Which storages a program is for: those that have what its feature needs, or those that lack it. */
export type Applies = "with" | "without";

/** Runs a program of a feature on a storage of its own, if it applies to that. */
export async function runFeature(
  feature: Feature,
  { program, applies, open }: { readonly program: Program; readonly applies: Applies; readonly open: Open },
  skip: (reason: string) => void,
): Promise<void> {
  const holds = { hold: (): Promise<boolean> => Promise.resolve(false) };
  const world = virtualWorld({ hold: () => holds.hold() });
  const handle = await open({ now: () => world.now() });
  try {
    if (claims(handle.storage, feature) !== (applies === "with"))
      return skip(`this storage ${applies === "with" ? "lacks" : "has"} \`${feature.needs}\``);
    const lab = new FeatureLab(handle, world, holds);
    await program(lab);
    await lab.close();
  } finally {
    await handle.close();
  }
}

/** Registers the programs of every feature for one storage; each opens a fresh, empty one. */
export function storageFeatures(name: string, open: Open): void {
  for (const feature of features)
    describe(`${feature.name} on ${name}`, () => {
      const register = (title: string, program: Program, applies: Applies): void => {
        // oxlint-disable-next-line vitest/expect-expect, vitest/valid-title -- the programs hold the assertions
        it(title, (context) => runFeature(feature, { program, applies, open }, (why) => context.skip(why)));
      };
      for (const [title, program] of Object.entries(feature.programs)) register(title, program, "with");
      if (feature.without !== undefined)
        register(`a storage without \`${feature.needs}\` says so`, feature.without, "without");
    });
}
