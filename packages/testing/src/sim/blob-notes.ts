/** Which ways blobs take. */

import type { AppendRequest, NamedBlob } from "@durable/core";
import type { History } from "./history.ts";
import type { RunLog } from "./records.ts";

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
