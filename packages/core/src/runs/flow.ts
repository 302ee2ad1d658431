/**
 * When a run may begin, and beside which others: delays, slots, rates, debounce and singletons.
 *
 * flow.1. A limited run is recorded first, without a lease. It is driven once its time has come, it has a slot, and, if it
 *     has not begun, its rate allows it. A run that waits for one of these has no lease, and so no slot.
 * flow.2. `begun` makes the input of a debounced run final. A start that moves the run and the driver that begins it
 *     compete for the same position of its journal, so no start changes the input of a run that has begun.
 * flow.3. A run whose rate is used up gets a turn, which is recorded. Its turn is a time to ask again: the rate is taken
 *     when the run begins. A run without a turn does not make those wait longer that have one. A run that is gone, or was
 *     moved, gives its turn back.
 * flow.4. While a run with a singleton has not ended, the storage records no other one, and a start returns that run.
 * flow.5. A run that has taken its rate records `begun` before its code is called: one append, only under a rate. So a
 *     driver that takes it over asks for no further turn. A process that dies between the two loses what it took, and the
 *     run asks again: the limit is never exceeded.
 * flow.6. A run whose deadline comes before its time or its turn is due at its deadline: it fails then, and begins nothing.
 * flow.7. The run that the storage returns for a key is used only if its own journal has the key, and `mayJoin` allows it.
 */

import { concurrencyOf, type Definition } from "../engine/definition.ts";
import type { Entry, Fact } from "../journal/entry.ts";
import { writeFact, type WrittenFact } from "../journal/batch.ts";
import type { RunJournal } from "../journal/journal.ts";
import { inputOf, turnIn } from "../journal/kinds.ts";
import type { RunFlow } from "../ports/storage.ts";
import { decode } from "../values/codec/decode.ts";
import type { Json } from "../values/codec/tags.ts";
import { fingerprintOf } from "../values/codec/fingerprint.ts";
import { toMs } from "../values/duration.ts";
import { DurableError, show } from "../values/errors.ts";
import { assertOptions } from "../values/options.ts";
import type { LeasedRun, FlowStart, NewRun } from "./create.ts";
import type { Host } from "./host.ts";
import { checkLimits } from "./window.ts";
import { byId, openRun } from "./lookup.ts";
import { assertMax, giveTurnBack, invalid, keyOf, rateOf } from "./rate.ts";

/** A day of seconds: a run is taken at most so much earlier, or later, than its turn. */
const highestPriority = 86_400;
/** The most runs in one turn of a key of `fair`. */
const highestWeight = 1_000;

// ---- what is recorded ----

/** What the first entry of a run says about its limits; `undefined` if nothing. */
export async function flowOf(
  host: Host,
  definition: Definition,
  input: Json,
  start: FlowStart & { readonly deadline?: number; readonly scope?: string | undefined } = {},
): Promise<RunFlow | undefined> {
  const { name, flow = {} } = definition;
  const where = `The start of "${name}"`;
  const { rate } = flow;
  const concurrency = concurrencyOf(flow);
  const value: unknown = decode(input, `input of workflow "${name}"`);
  const limited = `The concurrency of "${name}"`;
  if (concurrency !== undefined) assertOptions(concurrency, "max key", limited);
  if (concurrency !== undefined) assertMax(concurrency.max, limited);
  if (rate !== undefined) rateOf(definition, value);
  const given = start.priority ?? flow.priority ?? 0;
  const priority = typeof given === "function" ? given(value as never) : given;
  if (!Number.isSafeInteger(priority) || Math.abs(priority) > highestPriority)
    throw invalid(
      `${where} has the priority ${show(priority)}. Use a whole number of seconds from -${highestPriority} to ${highestPriority}: a run is taken as if it had become due so many seconds earlier.`,
    );
  const singleton = singletonOf(start, where);
  const startAt = startOf(host, start, where);
  const found: RunFlow = {
    ...(concurrency !== undefined && { slot: keyOf(concurrency.key, value, limited) }),
    ...(priority !== 0 && { priority }),
    ...fairOf(definition, value),
    ...(startAt !== undefined && { startAt: Math.min(startAt, start.deadline ?? Infinity) }),
    ...(singleton !== undefined && { singleton }),
  };
  // A time alone needs nothing that a storage may lack.
  if (definition.flow !== undefined || (singleton ?? start.priority) !== undefined)
    checkLimits({ storage: await host.storage() });
  return Object.keys(found).length === 0 ? undefined : found;
}

/** The key that takes turns with others, and how long its turns are. */
function fairOf({ name, flow }: Definition, input: unknown): Pick<RunFlow, "fair" | "weight"> {
  const { fair } = flow ?? {};
  if (fair === undefined) return {};
  const where = `\`fair\` of "${name}"`;
  const { key, weight: given = 1 } = typeof fair === "object" ? fair : { key: fair };
  if (typeof fair === "object") assertOptions(fair, "key weight", where);
  const weight = typeof given === "function" ? given(input as never) : given;
  if (!Number.isSafeInteger(weight) || weight < 1 || weight > highestWeight)
    throw invalid(`${where} has the weight ${show(weight)}. Use a whole number from 1 to ${highestWeight}.`);
  return { fair: keyOf(key, input, where), ...(weight > 1 && { weight }) };
}

function startOf(host: Host, { delay, at, debounce }: FlowStart, where: string): number | undefined {
  const given = [delay, at, debounce].filter((one) => one !== undefined);
  if (given.length > 1) throw invalid(`${where} has two times to begin. Pass one of delay, at and debounce.`);
  const now = host.world.now();
  if (at !== undefined) {
    const time = Number(at);
    if (!Number.isFinite(time) || time < 0)
      throw invalid(`${where} has \`at: ${show(at)}\`, which is not a time.`);
    return time;
  }
  if (debounce !== undefined) return now + toMs(debounce.wait, `${where}: debounce.wait`);
  return delay === undefined ? undefined : now + toMs(delay, `${where}: delay`);
}

/** A text for each purpose, so that the two do not meet. */
function singletonOf(
  { singleton, debounce, scope }: FlowStart & { readonly scope?: string | undefined },
  where: string,
): string | undefined {
  // The key comes after the first blank, so no key of one scope, or of none, is a key of another.
  const lead = (purpose: string): string =>
    scope === undefined ? `${purpose} ` : `${purpose}/${encodeURIComponent(scope)} `;
  if (singleton !== undefined && debounce !== undefined)
    throw invalid(`${where} has \`singleton\` and \`debounce\`. Pass one of them.`);
  if (debounce !== undefined) {
    assertOptions(debounce, "key wait", `${where}: debounce`);
    return lead("debounce") + keyOf(debounce.key, null, `${where}: debounce`);
  }
  if (singleton === undefined) return undefined;
  if (typeof singleton !== "string") assertOptions(singleton, "key", `${where}: singleton`);
  const key = typeof singleton === "string" ? singleton : singleton.key;
  return lead("one") + keyOf(key, null, `${where}: singleton`);
}

// ---- singletons and debounce: one run for several starts ----

type Started = Fact<Json> & { kind: "run.started" };

/** How often the run with a key may end, begin or be deleted before a start. */
const mostTries = 99;

/**
 * Records a run with limits, without a lease. If another run has its singleton, nothing is recorded, and that run is
 * returned: moved to the new time if it is debounced.
 */
export async function record(
  host: Host,
  {
    journal,
    lease,
    started,
    mayJoin,
  }: Pick<LeasedRun, "journal" | "lease"> & Pick<NewRun, "mayJoin"> & { readonly started: Started },
  append: () => Promise<boolean>,
): Promise<LeasedRun> {
  const unleased = { lease, owned: false, starts: 0, length: 0 };
  for (let tries = 0; ; tries++) {
    try {
      const created = await append();
      // It has written, and has no lease yet: what another driver writes until then takes the run away from it.
      journal.driven ||= created;
      return { ...unleased, journal, created };
    } catch (error) {
      if (DurableError.is(error, "input-mismatch") && hasTaken(journal, started))
        return { ...unleased, journal, created: false };
      const other = DurableError.is(error, "conflict") ? error.details["singleton"] : undefined;
      // A storage that was changed may give a key to a run that it does not have.
      if (typeof other !== "string" || tries === mostTries) throw error;
      const existing = await openRun(host, other).catch(missing);
      if (existing === null) continue;
      assertOwner(existing, started);
      await mayJoin?.(existing.runId);
      // A run that is deleted meanwhile leaves its key to this one.
      const isMoved = (): Promise<boolean | null> =>
        byId(host, existing.runId, () => moved(host, existing, started)).catch(missing);
      if (!isDebounced(started) || (await isMoved()))
        return { ...unleased, journal: existing, created: false };
    }
  }
}

/** The storage says which run has a key, and the journal of that run must say so, too: it may be sealed. */
function assertOwner({ runId, entries, state }: RunJournal, { workflow, flow }: Started): void {
  const has = (entry: Entry): boolean => "flow" in entry && entry.flow?.singleton === flow?.singleton;
  if (state.summary.workflow === workflow && entries.some(has)) return;
  throw new DurableError(
    "tampered",
    `The storage says that run ${runId} has a singleton or debounce key of workflow "${workflow}", and its journal does not. Nothing was started. Restore the row of this run, or delete the run.`,
    { details: { runId } },
  );
}

/** The start is repeated, and another one has replaced its input meanwhile. */
function hasTaken({ entries }: RunJournal, { input }: Started): boolean {
  const asked = fingerprintOf(input);
  return entries.some((entry) => {
    const given = inputOf(entry);
    return given !== undefined && fingerprintOf(given) === asked;
  });
}

function missing(error: unknown): null {
  if (DurableError.is(error, "not-found")) return null;
  throw error;
}

/** Moves a debounced run; false when it has begun or ended, so that another one may be recorded. */
async function moved(host: Host, journal: RunJournal, started: Started): Promise<boolean> {
  const { flow = {}, input, tags, deadline } = started;
  while (journal.state.end === null && isDebounced(journal.state.summary)) {
    const turn = turnIn(journal.entries);
    const fact = {
      kind: "run.queued",
      flow,
      input,
      ...(tags === undefined ? {} : { tags }),
      ...(deadline === undefined ? {} : { deadline }),
    } as const;
    const { kind } = await journal.append([written(host, fact)], { outside: true });
    if (kind !== "landed") continue;
    await giveTurnBack(host, turn);
    return true;
  }
  return false;
}

/** A debounced run that has not begun: it has no singleton from then on. */
export function isDebounced({ flow }: { readonly flow?: RunFlow }): boolean {
  return /^debounce[ /]/.test(flow?.singleton ?? "");
}

/** The run was recorded, and its code was not called yet, or has left no trace. */
export function isUnbegun({ first, entries }: RunJournal): boolean {
  const isBefore = (entry: Entry): boolean =>
    entry.outside || entry.seq <= first.seq || (entry.kind === "run.queued" && !entry.begun);
  return first.kind !== "run.continued" && entries.every(isBefore);
}

export function written(host: Host, fact: Fact<Json>): WrittenFact {
  return writeFact(fact, host.world.now());
}
