/** Notes which events of coverage.ts a batch shows. Proven in test/sim-seeds-1.test.ts. */

import type { AppendRequest, NamedBlob } from "@durable/core/storage";
import type { History } from "./history.ts";
import { driverOf, type AppliedBatch, type RunLog } from "./run-log.ts";

export function noteCoverage(history: History, run: RunLog, batch: AppliedBatch): void {
  const before = run.batches.slice(0, -1).flatMap(({ entries }) => entries);
  const kinds = new Set(batch.entries.map(({ kind }) => kind));
  for (const kind of kinds) history.meet(`entry ${kind}`);
  if (batch.entries.length > 3) history.meet("a shared append");
  for (const { kind, wait } of batch.entries) {
    if (kind !== "suspend.answered") continue;
    const opened = before.some((entry) => entry.kind === "suspend.opened" && entry.wait === wait);
    history.meet(opened ? "an answer to an open wait" : "an answer before its wait");
    if (before.findLast((entry) => entry.wait === wait && entry.kind !== "suspend.opened")?.kind === kind)
      history.meet("an answer behind one without a verdict");
  }
  if (batch.outside) {
    if (kinds.has("run.cancelled")) history.meet("a cancel from outside");
    if (!kinds.has("suspend.answered") && !kinds.has("suspend.resolved")) return;
    history.meet("an answer from outside");
    if (before.at(-1)?.kind === "run.suspended") history.meet("an answer after a park");
    return;
  }
  const last = run.batches.slice(0, -1).findLast(({ outside }) => !outside);
  if (last === undefined) return;
  if (driverOf(last) === driverOf(batch)) {
    if (last.entries.at(-1)?.kind === "run.suspended") history.meet("a warm run went on");
    return;
  }
  history.meet(
    last.process === batch.process ? "taken up again by the same process" : "taken over by another process",
  );
}

/** Notes what happens to blobs: shared, sent again, named without a body. */
export class BlobNotes {
  readonly #history: History;
  readonly #owners = new Map<string, RunLog>();
  readonly #refused = new Set<string>();

  constructor(history: History) {
    this.#history = history;
  }

  refused({ locator, blobs = [] }: AppendRequest): void {
    for (const { name } of blobs) this.#refused.add(`${locator} ${name}`);
  }

  landed(run: RunLog, blobs: readonly NamedBlob[] = []): void {
    for (const { name, body } of blobs) {
      this.#history.meet(body === undefined ? "a blob named without its body" : "a blob");
      const owner = this.#owners.get(name);
      if (owner !== undefined && owner !== run) this.#history.meet("a blob that two runs name");
      this.#owners.set(name, run);
      if (body !== undefined && this.#refused.has(`${run.locator} ${name}`))
        this.#history.meet("a blob sent again after a conflict");
    }
  }
}
