/**
 * Open waits that the code no longer reaches.
 *
 * vanished.1. A wait is not gone while the code may still come to it: through work, time or a wait that is new, or that was
 *     opened after the run had parked at it; or because it was opened after the code awaited something other than ctx.
 * vanished.2. Nothing is gone in a branch that has lost, before what a retry or a fork allows to change, and where the wait
 *     was opened for words of a stream that no longer exist.
 */

import type { Entry } from "../journal/entry.ts";
import type { RunJournal } from "../journal/journal.ts";
import { nameOf, stepAsked } from "../journal/keys.ts";
import { decode } from "../values/codec/decode.ts";
import { encodeThrown } from "../values/codec/encode.ts";
import { DurableError, describeError } from "../values/errors.ts";
import type { Call, CallRegistry } from "./registry.ts";
import type { Replay } from "./replay.ts";

type Opened = Entry & { kind: "suspend.opened" };

interface Waiting {
  readonly journal: Pick<RunJournal, "loose" | "state">;
  readonly replay: Pick<Replay, "isCalled" | "isLost" | "rank">;
  readonly calls: Pick<CallRegistry, "isClosed">;
}

/** Open waits that the code has not called, and that no lost branch explains. */
export function unreachedWaits({ journal, replay, calls }: Waiting): {
  readonly opened: Opened;
  readonly isAnswered: boolean;
}[] {
  return journal.state
    .openWaits({ answered: true })
    .filter(
      ({ opened: { key, seq } }) =>
        seq > journal.loose && !replay.isCalled(key) && !calls.isClosed(key) && !replay.isLost(key),
    )
    .map(({ opened, answers }) => ({ opened, isAnswered: answers.length > 0 }));
}

/** The open wait of its branch, or of a group in it, that the code should have come to before this call. */
export function passedWait(run: Waiting, { scope, entered: { reached = 0 } }: Call): string | null {
  const prefix = scope.path === "" ? "" : `${scope.path}/`;
  const found = unreachedWaits(run).find(({ opened }) => {
    const { key } = opened;
    if (!key.startsWith(prefix) || stepAsked(key) !== null || opened.foreign === true) return false;
    // The call of this branch that the wait belongs to: the wait itself, or the group around it.
    const above = /^[^[/]*/.exec(key.slice(prefix.length))?.[0] ?? "";
    return run.replay.rank(opened.after) <= reached && !run.replay.isCalled(prefix + above);
  });
  return found?.opened.key ?? null;
}

/** An open wait that is gone when the run parks here; `null` when the code may still come to it. */
export function goneAtPark(
  run: Waiting & {
    readonly journal: Pick<RunJournal, "entries">;
    readonly replay: Pick<Replay, "isCalled" | "isLost" | "rank" | "record" | "orphans">;
    readonly calls: Pick<CallRegistry, "isClosed" | "mayReach" | "unfinished">;
  },
): Opened | null {
  const unreached = unreachedWaits(run);
  if (unreached.length === 0) return null;
  const parks = run.journal.entries.filter(({ kind }) => kind === "run.suspended").map(({ seq }) => seq);
  const open = run.calls.unfinished("step", "stream", "child", "spawn", "sleep", "suspend");
  const mayLead = (opened: Opened): boolean =>
    opened.foreign === true ||
    open.length === 0 ||
    run.replay.orphans().length > 0 ||
    open.some((key) => {
      const seq = run.replay.record(key)?.seq ?? Infinity;
      return seq === Infinity || parks.some((park) => opened.seq < park && park < seq);
    });
  const gone = unreached.find(({ opened, isAnswered }) =>
    isAnswered ? !run.calls.mayReach(opened) : !mayLead(opened),
  );
  return gone?.opened ?? null;
}

/** How the code passed a wait: it ended, waits for these, or comes to this step. */
export interface Passing {
  readonly finished?: boolean;
  /** The error that ended it, if there was one. */
  readonly thrown?: { readonly value: unknown } | undefined;
  readonly waits?: readonly string[];
  readonly step?: string;
}

export function vanishedWait(
  runId: string,
  key: string,
  { finished, thrown, waits = [], step }: Passing,
): DurableError {
  const name = nameOf(key);
  const where = `error of run ${runId}`;
  const branch = key.includes("/") ? ` in ${key.slice(0, key.lastIndexOf("/"))}` : "";
  const ended = thrown === undefined ? "ended" : `failed (${describeError(thrown.value)})`;
  const [first] = waits;
  const at = first === undefined ? "waits" : `waits for "${first}"`;
  const how = step === undefined ? (finished === true ? ended : at) : `comes to the step "${step}"`;
  const isNew = step ?? first;
  const open = step === undefined ? ", or answer it if it is open" : "";
  const inserted =
    isNew === undefined
      ? ""
      : ` If "${nameOf(isNew)}" is new and comes first, pass { was: null } to it${open}.`;
  return new DurableError(
    "diverged",
    `Run ${runId} does not fit this code: the code ${how} without reaching the open suspend point "${key}".${inserted} Restore ctx.suspend("${name}")${branch}, pass { was: "${name}" } if it was renamed, or fork the run; then advance it again.`,
    {
      ...(thrown === undefined ? {} : { cause: decode(encodeThrown(thrown.value, where), where) }),
      details: { key, recorded: { kind: "suspend" }, asked: isNew ?? null },
    },
  );
}
