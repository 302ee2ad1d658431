/** Seeds that the correct engine fails, too: they prove nothing about a bug, and are skipped. */
import { hunt, type Found } from "./hunt.ts";
import type { Patch } from "./patch.ts";

export class Alarms {
  readonly #known = new Map<number, Promise<string | null>>();
  /** The violations of the correct engine, by seed. */
  readonly false = new Map<number, string>();

  /** Like `hunt`, but skips false alarms. */
  async hunt(
    patches: readonly Patch[],
    seeds: readonly number[],
    began: (seed: number) => void,
  ): Promise<Found> {
    const left = seeds.filter((seed) => !this.false.has(seed));
    const found = await hunt({ patches, seeds: left }, began);
    if (found.kind !== "caught" || (await this.#sound(found.seed)) === null) return found;
    const from = left.indexOf(found.seed) + 1;
    const later = await this.hunt(patches, left.slice(from), began);
    const tookMs = found.tookMs + later.tookMs;
    return later.kind === "unfit" ? later : { ...later, tookMs, tried: later.tried + from };
  }

  /** The violation of the correct engine on this seed; computed once for all bugs. */
  #sound(seed: number): Promise<string | null> {
    const known = this.#known.get(seed) ?? this.#ask(seed);
    this.#known.set(seed, known);
    return known;
  }

  async #ask(seed: number): Promise<string | null> {
    const found = await hunt({ patches: [], seeds: [seed] });
    if (found.kind !== "caught") return null;
    this.false.set(seed, `${found.by} ${found.what}`);
    return found.what;
  }
}
