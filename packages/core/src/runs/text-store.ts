/**
 * Changes the texts of `storage.limits`, which several processes share.
 *
 * text-store.1. A change is a compare-and-swap on the text. One that came too late is computed again from the new text.
 * text-store.2. A storage that fails is asked again for a while. What was taken although its reply got lost counts twice.
 */

import type { Storage, StorageLimits } from "../ports/storage.ts";
import { isFinal } from "../journal/errors.ts";
import { backOff, pause, type World } from "../ports/world.ts";
import { DurableError, describeError, show } from "../values/errors.ts";
import { checkLimits } from "./host.ts";

interface Change {
  /** Missing when the text stays as it is. */
  readonly text?: string;
  /** In how many milliseconds to ask again; 0 when it was granted. */
  readonly wait: number;
  /** How long the text is needed. */
  readonly keepMs: number;
}

const mostFailures = 12;

export class TextStore {
  readonly #limits: StorageLimits;
  readonly #world: World;

  constructor(storage: Storage, world: World) {
    checkLimits({ storage });
    this.#limits = storage.limits as StorageLimits;
    this.#world = world;
  }

  /** `change` gets the text and the time by the clock of the storage, and may be called several times. */
  async update(name: string, change: (text: string | null, now: number) => Change): Promise<number> {
    for (let [tries, failures] = [1, 0]; ; tries++) {
      try {
        const { value, now } = await this.#limits.read(name);
        const { text, wait, keepMs } = change(value, now);
        if (text === undefined || (await this.#limits.swap(name, value, text, keepMs))) return wait;
        failures = 0;
      } catch (error) {
        if (isFinal(error)) throw error;
        if (++failures >= mostFailures) throw failed(name, error);
        await backOff(this.#world, failures);
      }
      // Others are at it as well.
      await pause(this.#world, Math.min(4 * tries, 100) * this.#world.random());
    }
  }
}

function failed(name: string, cause: unknown): DurableError {
  return new DurableError(
    "storage-failed",
    `Could not read or change ${show(name)} after ${mostFailures} attempts (${describeError(cause)}). Try again later.`,
    { cause },
  );
}
