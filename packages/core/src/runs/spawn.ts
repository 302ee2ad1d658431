/** Records a run that another run spawns, and drives it here where no worker would. Loaded at its first use. */

import type { SpawnRequest } from "../engine/child-runs.ts";
import type { Definition } from "../engine/definition.ts";
import type { AdvanceOptions } from "../engine/stop.ts";
import type { Outcome } from "../journal/outcome.ts";
import { decode } from "../values/codec/decode.ts";
import type { Host } from "./host.ts";

/** What drive.ts does, which loads this file. */
interface Verbs<Leased> {
  create(host: Host, definition: Definition, input: unknown, given: object): Promise<Leased>;
  advance(host: Host, definition: Definition, run: Leased): Promise<Outcome<unknown>>;
}

/** Resolves when the run is durable. */
export async function spawnRun<Leased>(
  host: Host,
  { runId, definition, input, spawnedBy }: SpawnRequest,
  { signal }: AdvanceOptions,
  { create, advance }: Verbs<Leased>,
): Promise<void> {
  // With a signal the caller is a worker: the run is due at once, and it or another one takes it.
  const takeLease = signal === undefined || host.find(definition.name) === null;
  const given = decode(input, `input of run ${runId}`);
  const leased = await create(host, definition, given, { id: runId, spawnedBy, takeLease });
  if (takeLease) host.background(`run ${runId}`, advance(host, definition, leased));
}
