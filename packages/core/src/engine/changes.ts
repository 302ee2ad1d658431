/**
 * Calls whose name comes from their content: after a change of the code they have other names, and no record.
 *
 * changes.1. Such a call is a change, and not a new call, while a recorded one of its branch, which the code could have
 *     asked for by now, is unclaimed. Nothing begins before that is judged.
 * changes.2. It is judged once the code has been still for a while, so that branches do not block each other.
 * changes.3. An outcome that is kept is recorded again under the new name, so that replay finds it there. If the code then
 *     asks for it under the old name as well, it was kept for the wrong call, and the run is blocked.
 */

import { decode } from "../values/codec/decode.ts";
import type { Json } from "../values/codec/tags.ts";
import type { Fact } from "../journal/entry.ts";
import type { RunJournal } from "../journal/journal.ts";
import { nameOf } from "../journal/keys.ts";
import { DurableError } from "../values/errors.ts";
import type { World } from "../ports/world.ts";
import type { Call } from "./registry.ts";
import type { Replay, Settlement } from "./replay.ts";

/** What the engine gives. */
interface Changing {
  readonly world: World;
  readonly journal: Pick<RunJournal, "runId" | "loose">;
  readonly replay: Replay;
  write(fact: Fact<Json>): void;
  block(error: DurableError): void;
  wake(): void;
}

/** How long the code must be still. Only changed code waits for it. */
const stillMs = 1_000;

export class Changes {
  readonly #engine: Changing;
  /** Kept, but perhaps not durable yet under the new name. */
  readonly #taken = new Set<string>();
  #doubt: { readonly delivered: number; readonly over: boolean; readonly cancel: () => void } | null = null;

  constructor(engine: Changing) {
    this.#engine = engine;
  }

  /** Returns the calls to begin; `null` while it is not known yet. */
  judge(fresh: Call[]): Call[] | null {
    const { world, replay } = this.#engine;
    for (const call of fresh) this.#checkOwner(call);
    const changed = fresh.filter((call) => this.#unclaimed(call).length > 0);
    if (changed.length === 0) {
      this.clear();
      return fresh;
    }
    if (this.#doubt?.delivered !== replay.delivered) {
      this.clear();
      const doubt = { delivered: replay.delivered, over: false, cancel: () => {} };
      doubt.cancel = world.timer(stillMs, () => {
        doubt.over = true;
        this.#engine.wake();
      });
      this.#doubt = doubt;
    }
    if (!this.#doubt.over) return null;
    const kept = changed.filter((call) => this.#keeps(call, changed));
    return fresh.filter((call) => !kept.includes(call));
  }

  /** The run is blocked when another call of this execution has the outcome that was recorded for this one. */
  #checkOwner({ byContent, key, scope }: Call): void {
    const { journal, replay } = this.#engine;
    if (byContent === undefined || replay.keptBy.size === 0) return;
    const own = scope.keyOf(nameOf(key), 1);
    let owner = own;
    for (let by: string | undefined = own; by !== undefined; by = replay.keptBy.get(by)) owner = by;
    if (owner === own || !replay.isCalled(owner)) return;
    this.#engine.block(
      new DurableError(
        "diverged",
        `Run ${journal.runId} does not fit this code: the outcome of "${own}" was kept for "${owner}", and now the code asks for it, too. Remove the call that was added before it; or fork the run from "${own}".`,
        { details: { key: own, asked: key } },
      ),
    );
  }

  clear(): void {
    this.#doubt?.cancel();
    this.#doubt = null;
  }

  #unclaimed({ byContent, key, scope }: Call): Settlement[] {
    const { replay, journal } = this.#engine;
    if (byContent === undefined || scope.closed || replay.record(key) !== undefined) return [];
    return replay
      .unclaimed(scope.path)
      .filter(
        ({ key: old, seq }) => seq > journal.loose && !this.#taken.has(old) && byContent.isOne(nameOf(old)),
      );
  }

  /** True when the call gets a recorded outcome. */
  #keeps(call: Call, changed: readonly Call[]): boolean {
    const beside = changed.filter(({ scope }) => scope === call.scope).length;
    const unclaimed = this.#unclaimed(call);
    try {
      const views = unclaimed.map((one) => ({
        key: one.key,
        name: nameOf(one.key),
        value: () => this.#value(one),
      }));
      const chosen = call.byContent?.choose(views, beside) ?? null;
      const settlement = unclaimed.find(({ key }) => key === chosen);
      if (settlement === undefined) return false;
      this.#taken.add(settlement.key);
      this.#keep(call, settlement);
      return true;
    } catch (error) {
      this.#engine.block(error as DurableError);
      return true;
    }
  }

  #value(settlement: Settlement): unknown {
    const value = this.#encoded(settlement);
    return value === undefined
      ? undefined
      : decode(value, `"${settlement.key}" of run ${this.#engine.journal.runId}`);
  }

  /** The chunks of a stream are in entries of their own. */
  #encoded(settlement: Settlement): Json | undefined {
    if (settlement.kind !== "stream.completed" || settlement.value !== undefined)
      return "value" in settlement ? settlement.value : undefined;
    const chunks = this.#engine.replay.record(settlement.key)?.chunks ?? [];
    return chunks.flatMap((entry) => entry.chunks);
  }

  #keep({ key, after }: Call, settlement: Settlement): void {
    const { at: _, seq: __, outside: ___, ...fact } = settlement;
    const value = this.#encoded(settlement);
    const own = { key, after, startedAt: this.#engine.world.now(), attempt: 1, kept: settlement.key };
    // Its usage was paid for, and recorded, once.
    const kept = {
      ...fact,
      ...own,
      ...(value === undefined ? {} : { value }),
      usage: undefined,
      input: undefined,
    };
    this.#engine.write(kept as Fact<Json>);
  }
}
