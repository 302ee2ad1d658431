/** Whether the model explains what was seen of the subject: its replies, where it came to rest, and how it ended. */

import type { Verb } from "./cells.ts";
import { actsOf, lifeIn, misfits, movesOf, progress, type Act, type Frame, type Life } from "./model.ts";

/** What was seen of the subject. */
export interface Sight {
  readonly words: readonly string[];
  /** Its status when nothing happened by itself any more; `none` when it was not listed. */
  readonly rest: string;
  readonly end: string;
}

interface Done {
  readonly act: Act;
  readonly word: string;
}

/** The acts of each verb, in every order that keeps those of one verb in theirs. */
function orders([first = [], second = []]: readonly (readonly Done[])[]): Done[][] {
  const [a, ...others] = first;
  const [b, ...rest] = second;
  if (a === undefined || b === undefined) return [[...first, ...second]];
  return [
    ...orders([others, second]).map((order) => [a, ...order]),
    ...orders([first, rest]).map((order) => [b, ...order]),
  ];
}

/** The records that explain the replies, in one order or another. */
export function livesAfter(frame: Frame, verbs: readonly Verb[], words: readonly string[]): Life[] {
  const done = verbs.map((verb, nth) => {
    const parts = words[nth]?.split(", ") ?? [];
    // The end before a delete has no reply of its own.
    return actsOf(verb).map((act): Done => ({ act, word: act === "end" ? "" : (parts.shift() ?? "") }));
  });
  return orders(done).flatMap((order) => {
    let lives = [lifeIn(frame)];
    for (const { act, word } of order)
      lives = distinct(
        lives
          .flatMap((life) => progress(frame, life))
          .flatMap((life) => movesOf(act, life, frame))
          .filter((move) => move.word === word)
          .map(({ life }) => life),
      );
    return lives;
  });
}

function distinct(lives: readonly Life[]): Life[] {
  return [...new Map(lives.map((life) => [JSON.stringify(life), life])).values()];
}

/** Where a run may be when it does nothing more by itself. */
function restsAs(frame: Frame, life: Life): readonly string[] {
  const { gone, end, paused, code } = life;
  if (gone) return ["none"];
  if (end !== null) return [end];
  const stuck = misfits(life) ? ["blocked", "suspended"] : [];
  // A worker of another version does not touch it.
  if (frame.option === "versions" && code === "changed") stuck.push("running", "suspended");
  // The deadline of its parent passes first, unless that is blocked.
  const inherits = frame.option === "deadline" && frame.state === "child";
  if (inherits && (paused || life.wait !== "answered"))
    return ["failed", "cancelled", ...stuck, ...(paused && misfits(life) ? ["paused"] : [])];
  if (paused) return ["paused"];
  return misfits(life) ? stuck : [...stuck, ...drivenTo(frame, life)];
}

/** Where a worker brings a run whose code fits. */
function drivenTo({ option, state }: Frame, { cancelling, wait }: Life): readonly string[] {
  if (cancelling) return ["cancelled"];
  if (wait === "answered" || (wait === "early" && state !== "parent")) return ["completed"];
  return option === "deadline" ? ["failed"] : ["suspended"];
}

/** How a run ends that is given all it waits for. */
function endsAs({ option, state }: Frame, { gone, end, cancelling, paused, began }: Life): readonly string[] {
  // Its parent may create it again.
  if (gone) return state === "child" ? ["none", "completed", "failed", "cancelled"] : ["none"];
  if (end !== null) return [end];
  if (cancelling) return ["cancelled"];
  // It has the version of the code that recorded it, and was begun by hand with another one: no worker fits both.
  if (option === "versions" && began === "changed") return ["completed", "blocked", "suspended"];
  if (option === "deadline" && state === "child") return ["completed", "failed", "cancelled"];
  // A deadline that passed meanwhile.
  return option === "deadline" ? (paused ? ["failed"] : ["completed", "failed"]) : ["completed"];
}

/** `null` when it is explained; otherwise what is not. */
export function unexplained(
  frame: Frame,
  verbs: readonly Verb[],
  { words, rest, end }: Sight,
): string | null {
  const lives = livesAfter(frame, verbs, words);
  if (lives.length === 0) return `the replies ${words.join(" and ")}`;
  const rested = lives
    .flatMap((life) => progress(frame, life))
    .filter((life) => restsAs(frame, life).includes(rest));
  if (rested.length === 0) return `that it came to rest as ${rest} after ${words.join(" and ")}`;
  if (rested.some((life) => endsAs(frame, life).includes(end))) return null;
  return `that it ended as ${end} after ${words.join(" and ")} and ${rest}`;
}
