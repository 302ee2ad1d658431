/**
 * The judge of changed code: calls without a record, beside recorded ones that the code has not asked for.
 *
 * changes.1. A call whose name comes from its content is a change, and not a new call, while a recorded one of its branch,
 *     which the code could have asked for by now, is unclaimed. Nothing begins before that is judged.
 * changes.2. A change is judged once the code has been still for a while, so that branches do not block each other. A
 *     replay that writes nothing judges at once.
 * changes.3. An outcome that is kept is recorded again under the new name, so that replay finds it there. If the code then
 *     asks for it under the old name as well, it was kept for the wrong call, and the run is blocked.
 * changes.4. Any other call is judged by renames.ts: a sure rename blocks the run before anything begins, any other is
 *     warned of once.
 * changes.5. No step whose start is recorded begins while an open wait of its branch is passed: the code may have lost it.
 * changes.6. A call that a fork makes again because it left the record out is neither a change nor a rename.
 */

import { decode } from "../values/codec/decode.ts";
import type { Json } from "../values/codec/tags.ts";
import type { Fact } from "../journal/entry.ts";
import type { RunJournal } from "../journal/journal.ts";
import { nameOf } from "../journal/keys.ts";
import { DurableError } from "../values/errors.ts";
import type { World } from "../ports/world.ts";
import type { Call, CallRegistry } from "./registry.ts";
import { isInserted, renameOf, renamed, unsureWarning, type Rename } from "./renames.ts";
import type { Replay, Settlement } from "./replay.ts";
import { passedWait, vanishedWait } from "./vanished.ts";

/** What the engine gives. */
interface Changing {
  readonly world: World;
  readonly journal: Pick<RunJournal, "runId" | "loose" | "isLeft" | "state" | "first">;
  readonly options: { readonly version: string | null };
  readonly replay: Replay;
  readonly calls: Pick<CallRegistry, "isClosed">;
  /** The code is over, and what it did is undone. */
  readonly undoing: boolean;
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
  /** Calls that were inserted before recorded ones. */
  readonly #inserted = new Set<string>();
  /** Calls that may be renames, by key. */
  readonly unsure = new Map<string, Rename>();
  readonly #fresh: Stillness;
  readonly #park: Stillness;

  constructor(engine: Changing) {
    this.#engine = engine;
    this.#fresh = new Stillness(engine);
    this.#park = new Stillness(engine);
  }

  /** Returns the calls to begin; `null` while it is not known yet. */
  judge(fresh: Call[], when: "still" | "at once" = "still"): Call[] | null {
    const { journal, replay } = this.#engine;
    for (const call of fresh) this.#checkOwner(call);
    if (replay.isAsked) {
      this.#fresh.clear();
      return fresh;
    }
    const asked = fresh.filter(({ key }) => !journal.isLeft(key));
    const renames = this.#renames(asked);
    const sure = renames.find(({ isSure }) => isSure);
    const passed = fresh.flatMap((call) => this.#passed(call) ?? [])[0];
    const changed = asked.filter((call) => this.#unclaimed(call).length > 0);
    if (changed.length > 0 || sure !== undefined || passed !== undefined) {
      if (when === "still" && !this.#fresh.isOver) return null;
    } else this.#fresh.clear();
    if (passed !== undefined)
      this.#engine.block(vanishedWait(journal.runId, passed.wait, { step: passed.call.key }));
    else if (sure !== undefined) this.#engine.block(renamed(journal.runId, sure));
    if (passed !== undefined || sure !== undefined) return [];
    for (const rename of renames) this.#warn(rename, when);
    const kept = changed.filter((call) => this.#keeps(call, changed));
    const begun = fresh.filter((call) => !kept.includes(call));
    for (const call of begun) if (isInserted(this.#engine, call)) this.#inserted.add(call.key);
    return begun;
  }

  /** The code has been still: a wait that it has not reached by now is gone. */
  get isStill(): boolean {
    return this.#park.isOver;
  }

  /** The fact of a call as it is recorded. */
  marked(fact: Fact<Json>): Fact<Json> {
    const isInserted = this.#inserted.size > 0 && "key" in fact && this.#inserted.has(fact.key);
    return isInserted ? { ...fact, inserted: true } : fact;
  }

  clear(): void {
    this.#fresh.clear();
    this.#park.clear();
  }

  #renames(fresh: readonly Call[]): Rename[] {
    if (this.#engine.undoing) return [];
    return fresh.flatMap((call) => renameOf(this.#engine, call) ?? []);
  }

  #warn(rename: Rename, when: "still" | "at once"): void {
    const { world, journal } = this.#engine;
    const { key } = rename.call;
    if (!this.unsure.has(key) && when === "still") world.warn(unsureWarning(journal.runId, rename));
    this.unsure.set(key, rename);
  }

  /** The open wait that a step passes, if the start of the step is recorded. */
  #passed(call: Call): { readonly call: Call; readonly wait: string } | null {
    const { replay, undoing } = this.#engine;
    const { entered, announced, key } = call;
    const isNew = entered.asked?.was === undefined && replay.record(key) === undefined;
    if (announced !== true || !isNew || undoing || call.scope.closed) return null;
    const wait = passedWait(this.#engine, call);
    return wait === null ? null : { call, wait };
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
      const chosen = call.byContent?.choose(views, beside, this.#version) ?? null;
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

  get #version(): "same" | "other" | null {
    const { journal, options } = this.#engine;
    if (options.version === null) return null;
    return journal.first.version === options.version ? "same" : "other";
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

/** True once nothing was delivered for a while, from the first time that this was asked. */
class Stillness {
  readonly #engine: Pick<Changing, "world" | "replay" | "wake">;
  #doubt: { readonly delivered: number; readonly over: boolean; readonly cancel: () => void } | null = null;

  constructor(engine: Pick<Changing, "world" | "replay" | "wake">) {
    this.#engine = engine;
  }

  get isOver(): boolean {
    const { world, replay } = this.#engine;
    if (this.#doubt?.delivered !== replay.delivered) {
      this.clear();
      const doubt = { delivered: replay.delivered, over: false, cancel: () => {} };
      doubt.cancel = world.timer(stillMs, () => {
        doubt.over = true;
        this.#engine.wake();
      });
      this.#doubt = doubt;
    }
    return this.#doubt.over;
  }

  clear(): void {
    this.#doubt?.cancel();
    this.#doubt = null;
  }
}
