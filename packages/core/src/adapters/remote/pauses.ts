/**
 * Workflows that are paused, in one register: a change is made to what is there, and again when another operator was faster. So
 * no pause is lost, and none comes back when a request that seemed lost is done later.
 */

import type { Bucket } from "../../ports/bucket.ts";
import type { WorkflowPause } from "../../ports/storage.ts";
import type { World } from "../../ports/world.ts";
import { hasFields } from "../../values/shown.ts";
import { Registers } from "./registers.ts";

const id = "all";

function arePauses(value: unknown): boolean {
  return (
    Array.isArray(value) && value.every((one) => hasFields(one, { workflow: "string", since: "number" }))
  );
}

export class RemotePauses {
  readonly #registers: Registers<readonly WorkflowPause[]>;
  readonly #newVersion: () => string;

  constructor(bucket: Bucket, world: Pick<World, "id">, assure: () => Promise<void>) {
    this.#registers = new Registers(bucket, { kind: "pause", fits: arePauses }, assure);
    this.#newVersion = () => world.id();
  }

  async list(): Promise<readonly WorkflowPause[]> {
    return (await this.#registers.read(id))?.value ?? [];
  }

  async set(workflow: string, pause: WorkflowPause | null): Promise<void> {
    const version = this.#newVersion();
    for (;;) {
      const last = await this.#registers.read(id);
      const paused = last?.value ?? [];
      const others = paused.filter((one) => one.workflow !== workflow);
      if (pause === null && others.length === paused.length) return;
      const value = pause === null ? others : [...others, pause];
      if (await this.#registers.write(id, last?.version ?? null, { version, value })) return;
    }
  }
}
