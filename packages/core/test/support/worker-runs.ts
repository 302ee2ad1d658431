/** Runs that are recorded and driven by nobody, as a client that only starts them, or one that died, leaves them. */

import type { RunHead, Storage, World } from "@durable/core";
import type { RunFlow } from "@durable/core/storage";
import { encode } from "../../src/values/codec/encode.ts";
import { writeFact } from "../../src/journal/batch.ts";
import { RunJournal } from "../../src/journal/journal.ts";
import { locatorOf } from "../../src/journal/keys.ts";

export interface Recorded {
  readonly workflow: string;
  readonly input?: unknown;
  readonly flow?: RunFlow;
}

/** Records a run without a lease: it is due at once. Returns its locator. */
export async function record(
  { storage, world }: { readonly storage: Storage; readonly world: World },
  runId: string,
  { workflow, input = null, flow }: Recorded,
): Promise<string> {
  const journal = new RunJournal(locatorOf(runId), { storage, world });
  const started = { runId, nonce: "n", workflow, version: null, input: encode(input, "input") } as const;
  const fact = { kind: "run.started", ...started, ...(flow !== undefined && { flow }) } as const;
  await journal.append([writeFact(fact, world.now())], { lease: null });
  return journal.locator;
}

export function numbered(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, n) => `${prefix}-${n}`);
}

/** Every run of a storage, page by page. */
export async function heads(storage: Storage): Promise<RunHead[]> {
  const found: RunHead[] = [];
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await storage.list({ limit: 1_000, ...(cursor === undefined ? {} : { cursor }) });
    found.push(...page.runs);
    cursor = page.next;
  }
  return found;
}

/** How many runs have which status. */
export async function statuses(storage: Storage): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { status } of await heads(storage)) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}
