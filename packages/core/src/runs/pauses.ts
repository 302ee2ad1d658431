/**
 * Workflows that are paused: their runs are recorded, and not driven. Kept by the storage, beside the runs.
 *
 * pauses.1. The reply of the storage is remembered for a short time, so that driving a run costs no read of its own. A
 *     pause itself asks the storage: when it resolves, the workflow is paused.
 * pauses.2. When a workflow turns out to be paused, its runs in this process are handed over at their next step boundary.
 */

import type { Outcome } from "../journal/outcome.ts";
import type { WorkflowPause } from "../ports/storage.ts";
import { DurableError } from "../values/errors.ts";
import { scrub } from "../values/scrub.ts";
import type { Host } from "./host.ts";

/** How long a process may not notice that a workflow was paused, while it looks for runs to drive. */
const knownMs = 1_000;

type Paused = ReadonlyMap<string, WorkflowPause>;

export class Pauses {
  readonly #host: Host;
  #known: { readonly at: number; readonly found: Promise<Paused> } | null = null;

  constructor(host: Host) {
    this.#host = host;
  }

  /** Why the runs of a workflow are not driven now; `null` when they are. */
  async of(workflow: string): Promise<WorkflowPause | null> {
    return (await this.#now()).get(workflow) ?? null;
  }

  /** By name, because storages keep them in any order. */
  async list(): Promise<readonly WorkflowPause[]> {
    return [...(await this.#now()).values()].toSorted((a, b) => (a.workflow < b.workflow ? -1 : 1));
  }

  /** The workflows among these that are not paused. */
  async without(workflows: readonly string[]): Promise<readonly string[]> {
    const paused = await this.#now();
    return workflows.filter((name) => !paused.has(name));
  }

  async set(workflow: string, isPaused: boolean, reason = ""): Promise<void> {
    const storage = await this.#host.storage();
    if (storage.pause === undefined)
      throw new DurableError(
        "invalid-options",
        "This storage cannot pause a workflow. Pause its runs one by one, with run.pause().",
      );
    const pause = { workflow, reason: scrub(reason) || null, since: this.#host.world.now() };
    // Another process may have unpaused it since this one has read the pauses.
    this.#known = null;
    const known = isPaused ? await this.of(workflow) : null;
    if (known === null) await storage.pause(workflow, isPaused ? pause : null);
    this.#known = null;
    await this.#now();
  }

  #now(): Promise<Paused> {
    const at = this.#host.world.now();
    if (this.#known !== null && at - this.#known.at < knownMs) return this.#known.found;
    const found = this.#read();
    this.#known = { at, found };
    // A storage that fails now is asked again at once.
    found.catch(() => (this.#known = null));
    return found;
  }

  async #read(): Promise<Paused> {
    const storage = await this.#host.storage();
    const paused = new Map((await storage.paused?.())?.map((one) => [one.workflow, one]));
    for (const execution of this.#host.driving.values())
      if (paused.has(execution.definition.name)) execution.leave();
    return paused;
  }
}

/** The outcome of a run whose workflow is paused; an end and a pause of the run itself say more. */
export function asPaused(outcome: Outcome<unknown>, { reason, since }: WorkflowPause): Outcome<unknown> {
  if (outcome.status !== "running" && outcome.status !== "suspended") return outcome;
  const { runId, recorded, waiting } = outcome;
  return { runId, state: "paused", recorded, status: "paused", reason, since, waiting };
}
