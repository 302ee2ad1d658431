/**
 * What a user is promised of one run: a record of a few facts, and for each verb what its caller gets and what becomes of the record.
 * Written from the guides alone; it knows nothing of journals, leases or entries.
 *
 * model.1. A verb has one effect, at one moment between its call and its reply. So two verbs at once are explained by one of the two orders.
 * model.2. Between two moments a driver may have brought the run further.
 * model.3. A run that has nothing to do by itself has ended, is paused or blocked, or waits for something that has a name.
 */

import type { Option, State, Verb } from "./cells.ts";
import type { Code } from "./program.ts";

export interface Life {
  /** Deleted or purged. */
  readonly gone: boolean;
  readonly end: "completed" | "failed" | "cancelled" | null;
  readonly cancelling: boolean;
  readonly paused: boolean;
  /** The wait `go`: not reached, open, answered before it was reached, or answered. */
  readonly wait: "ahead" | "open" | "early" | "answered";
  /** The code under which its first step was recorded; `null` before that. */
  readonly began: Code | null;
  /** The code that is deployed. */
  readonly code: Code;
  /** A compensation has run. */
  readonly undone: boolean;
  readonly retried: boolean;
  /** Another run of the same key has been started. */
  readonly rival: boolean;
  /** A process may drive it that began to before other code was deployed. */
  readonly driven: boolean;
}

/** What never changes in a cell. */
export interface Frame {
  readonly state: State;
  readonly option: Option;
}

/** What a caller may get, and the record afterwards. */
export interface Move {
  readonly word: string;
  readonly life: Life;
}

const fresh: Life = {
  gone: false,
  end: null,
  cancelling: false,
  paused: false,
  wait: "ahead",
  began: null,
  code: "right",
  undone: false,
  retried: false,
  rival: false,
  driven: false,
};

/** The record of a run that has just come to a state. */
export function lifeIn({ state, option }: Frame): Life {
  const begun: Life = { ...fresh, began: "right" };
  switch (state) {
    case "queued":
    case "delayed":
      return fresh;
    case "running":
    case "streaming":
      return { ...begun, driven: true };
    case "sleeping":
    case "parent":
      return begun;
    case "waiting":
    case "child":
    case "fork":
    case "chapter":
      return { ...begun, wait: "open" };
    case "paused":
      return { ...begun, wait: "open", paused: true };
    case "cancelling":
      return { ...begun, wait: "open", cancelling: true, driven: true };
    case "blocked":
      return { ...begun, wait: "open", code: "changed" };
    case "failed":
      return { ...begun, end: "failed", undone: option === "compensation" };
    case "compensated":
      return { ...begun, end: "failed", undone: true };
    case "completed":
      return { ...begun, wait: "answered", end: "completed" };
  }
}

/** The code that is deployed does not fit what is recorded. */
export const misfits = ({ began, code }: Life): boolean => began !== null && began !== code;

/** It has a clean-up or a compensation. A fork undoes nothing that it has inherited, and registers its own clean-up. */
export function undoes({ state, option }: Frame, { began }: Life): boolean {
  if (began === null) return false;
  if (option === "clean-up" || state === "cancelling") return true;
  return began === "right" && (state === "compensated" || (option === "compensation" && state !== "fork"));
}

/** All records that a driver may have brought the run to, with the one given. */
export function progress(frame: Frame, life: Life): Life[] {
  const found = [life];
  for (const one of found) {
    const next = stepOf(frame, one);
    if (next !== null) found.push(next);
  }
  return found;
}

/** What a driver does next. */
function stepOf({ state }: Frame, life: Life): Life | null {
  const { gone, end, cancelling, wait, began, code, driven, paused } = life;
  // A parent creates a child again that was deleted.
  if (gone) return state === "child" ? { ...fresh, code } : null;
  if (end !== null || paused || (misfits(life) && !driven)) return null;
  if (cancelling) return { ...life, end: "cancelled", cancelling: false };
  if (began === null) return { ...life, began: code };
  // Its child waits for an answer, and none is given here.
  if (state === "parent" && wait !== "answered") return null;
  if (wait === "ahead") return { ...life, wait: "open" };
  if (wait === "early") return { ...life, wait: "answered" };
  return wait === "answered" ? { ...life, end: "completed" } : null;
}

const driven = (life: Life): Life => ({ ...life, driven: true });

const refused = (code: string): string => `refused ${code}`;

/** What has one effect. A repeated answer is two of them, and a delete ends the run before it removes it. */
export type Act = Exclude<Verb, "repeat"> | "end";

const several: Partial<Record<Verb, readonly Act[]>> = {
  repeat: ["resume", "resume"],
  delete: ["end", "delete"],
};

export const actsOf = (verb: Verb): readonly Act[] => several[verb] ?? [verb as Act];

type Acts = Readonly<Record<Act, (life: Life, frame: Frame) => readonly Move[]>>;

/** Every reply that a caller may get, with the record afterwards. */
export function movesOf(act: Act, life: Life, frame: Frame): readonly Move[] {
  return promised[act](life, frame);
}

/** The words for where a run is. */
function wordsFor(life: Life): readonly string[] {
  if (life.end !== null) return [life.end];
  if (life.paused) return ["paused"];
  return misfits(life) ? ["running", "suspended", "blocked"] : ["running", "suspended"];
}

/** What a caller gets that asks for an outcome, now or after some progress. */
function outcomes(given: Life, frame: Frame): Move[] {
  return progress(frame, given).flatMap((life) => wordsFor(life).map((word) => ({ word, life })));
}

/** A handle on a run that does not exist rejects. */
const onHandle =
  (moves: (life: Life, frame: Frame) => readonly Move[]) =>
  (life: Life, frame: Frame): readonly Move[] =>
    life.gone ? [{ word: refused("not-found"), life }] : moves(life, frame);

function answered(life: Life): Move[] {
  const { gone, end, cancelling, wait } = life;
  if (gone) return [{ word: "unknown", life }];
  if (wait === "answered") {
    // The answer of a run that has not looked at it counts as one that came too late, once the run has ended.
    const late = end === "cancelled" || end === "failed" || cancelling;
    return (late ? ["duplicate", "expired"] : ["duplicate"]).map((word) => ({ word, life }));
  }
  if (end !== null || cancelling) return [{ word: "expired", life }];
  // Nothing is known of the schema of a wait that was not reached, so each answer is recorded.
  if (wait === "early") return ["accepted", "duplicate"].map((word) => ({ word, life }));
  return [{ word: "accepted", life: { ...life, wait: wait === "open" ? "answered" : "early" } }];
}

/** The code is run to check the answer. Code that does not fit the run takes it nowhere, and the answer is recorded. */
function resumed(life: Life): Move[] {
  const moves = answered(life);
  if (misfits(life) && !life.driven) return moves;
  return moves.map((move) => ({ ...move, life: driven(move.life) }));
}

function cancelled(life: Life, frame: Frame): Move[] {
  if (life.end !== null || life.cancelling) return outcomes(life, frame);
  if (undoes(frame, life)) return outcomes(driven({ ...life, cancelling: true, paused: false }), frame);
  return [{ word: "cancelled", life: { ...life, end: "cancelled" } }];
}

function retried(life: Life, frame: Frame): Move[] {
  const { end, undone, retried: before, rival } = life;
  if (end !== "failed") return before ? outcomes(life, frame) : [{ word: refused("retry-refused"), life }];
  if (undone) return [{ word: refused("retry-refused"), life }];
  if (rival) return [{ word: refused("conflict"), life }];
  return outcomes(driven({ ...life, end: null, retried: true }), frame);
}

function forked(life: Life): Move[] {
  if (life.began !== "right") return [{ word: refused("unknown-step"), life }];
  return [{ word: "created", life }];
}

function started(life: Life, { state, option }: Frame): Move[] {
  const { gone, code, rival } = life;
  if (state === "child" && !gone) return [{ word: refused("run-exists"), life }];
  if (state === "fork" && !gone) return [{ word: refused("run-exists"), life }];
  if (!gone) return [{ word: "found", life: driven(life) }];
  // Another run has the key, or the base of the fork has it.
  if (option === "singleton" && (rival || state === "fork")) return [{ word: "found", life }];
  return [{ word: "created", life: driven({ ...fresh, code, rival }) }];
}

/** A start of another run, with the same key where there is one. */
function startedBeside(life: Life, frame: Frame): Move[] {
  const { gone, end, began } = life;
  const found = { word: "found", life };
  const created = { word: "created", life: { ...life, rival: true } };
  if (frame.option === "singleton") {
    // The base of a fork and the parent of a child have the key.
    if (frame.state === "fork" || frame.state === "child") return [found];
    if (life.rival) return [found];
    return gone || end !== null ? [created] : [found];
  }
  if (frame.option === "debounce")
    return began === null && !gone && end === null ? [found] : [created, found];
  return [{ word: "created", life }];
}

const promised: Acts = {
  resume: resumed,
  record: answered,
  send: onHandle((life) => [{ word: life.end === null ? "accepted" : "ended", life }]),
  cancel: onHandle(cancelled),
  pause: onHandle((life) =>
    life.end === null ? [{ word: "paused", life: { ...life, paused: true } }] : [{ word: life.end, life }],
  ),
  unpause: onHandle((life, frame) => outcomes(driven({ ...life, paused: false }), frame)),
  retry: onHandle(retried),
  fork: onHandle(forked),
  // A run without a driver and without children is removed at once.
  end: (life) => [
    { word: "", life },
    ...(life.gone || life.end !== null
      ? []
      : [{ word: "", life: { ...life, end: "cancelled" as const, cancelling: false, paused: false } }]),
  ],
  // Of two at once both may be the one that deleted it.
  delete: (life) => {
    const deleted = { word: "deleted", life: { ...life, gone: true } };
    return life.gone ? [deleted, { word: refused("not-found"), life }] : [deleted];
  },
  purge: (life, { state }) => {
    // Whether others have ended is not known here.
    const stays = ["nothing to purge", "purged"].map((word) => ({ word, life }));
    if (life.gone || life.end === null || state === "child") return stays;
    return [{ word: "purged", life: { ...life, gone: true } }];
  },
  advance: onHandle((life, frame) => {
    const other = frame.option === "versions" && misfits(life) && life.end === null;
    return other ? [{ word: refused("other-version"), life }] : outcomes(driven(life), frame);
  }),
  copy: (life) => [{ word: "copied", life }],
  start: started,
  another: startedBeside,
  deploy: (life) => [
    { word: "deployed", life: { ...life, code: life.code === "right" ? "changed" : "right" } },
  ],
};
