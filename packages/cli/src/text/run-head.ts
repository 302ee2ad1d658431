/** The first lines of one run: what it is, how it stands, what it cost. */

import type { RunStateName } from "@durable/core";
import type { Prices, RunView } from "@durable/core/inspect";
import { shortId } from "../runs.ts";
import { styled, type Terminal } from "../terminal.ts";
import { duration, errorLines, inline, money, plural, tokens, whenIn } from "./format.ts";
import { spentLine, type ChildSums } from "./spent.ts";
import { statusText } from "./status.ts";
import { fit } from "./width.ts";

/** How many retries the head names. */
const retriesShown = 3;

export interface ShowOptions {
  readonly term: Terminal;
  readonly now: number;
  readonly prices?: Prices | undefined;
  /** What the children have used. */
  readonly sums?: ChildSums | undefined;
  /** True for a chapter that ended when the next one began. */
  readonly past?: boolean | undefined;
  /** What the run does; the status of the view where that is all that is known. */
  readonly state?: RunStateName | undefined;
}

/** The first lines: what it is, how it stands, what it cost. */
export function header(view: RunView, options: ShowOptions): string[] {
  const { term, now, past = false } = options;
  const { totals, lineage } = view;
  const end = view.endedAt ?? (past ? view.updatedAt : now);
  const dot = styled("dim", ` ${term.glyph("·", "-")} `);
  const spent = spentLine(view, options);
  const facts = [
    `${duration(totals.busyMs)} of work in ${duration(end - view.startedAt)}`,
    plural(totals.settled, "step"),
    ...(totals.failedAttempts > 0 ? [plural(totals.failedAttempts, "failed attempt")] : []),
    ...(spent === "" ? [] : [spent]),
  ];
  const lines = [
    `${styled("bold", view.workflow || "(no workflow)")}  ${shortId(view.runId)}  ${past ? statusText(term, "completed", "continued") : stateLine(view, options)}`,
    facts.join(dot),
  ];
  if (lineage !== null && lineage.parent !== null) {
    const place = [
      ...lineage.from.map((key) => `from ${key}`),
      ...lineage.after.map((key) => `after ${key}`),
      ...lineage.edited.map((key) => `edited ${key}`),
    ];
    const saved = [
      money(totals.reused.cost),
      totals.reusedMs > 0 ? duration(totals.reusedMs) : "",
      tokens(totals.reused),
    ].filter(Boolean);
    lines.push(
      styled(
        "magenta",
        `${term.glyph("⑂", "fork")} of ${shortId(lineage.parent)}${lineage.label === null ? "" : ` "${lineage.label}"`} ${place.join(", ")}`,
      ) +
        dot +
        `${totals.fromJournal} of ${plural(totals.settled, "step")} from the journal ${term.glyph("↺", "")}`.trimEnd() +
        (saved.length > 0 ? `${dot}reused ${saved.join(", ")}` : ""),
    );
  }
  if (view.childOf !== null)
    lines.push(styled("dim", `child of ${shortId(view.childOf.runId)} at ${view.childOf.key}`));
  if (view.deadline !== null && view.endedAt === null)
    lines.push(styled("dim", `has to end by ${whenIn(view.deadline, now, term)}`));
  for (const { at, error } of view.retries.slice(-retriesShown)) {
    const why = error === undefined ? undefined : errorLines(error).at(-1);
    const text = `retried at ${whenIn(at, now, term)}${why === undefined ? "" : ` after ${why}`}`;
    lines.push(styled("yellow", fit(text, term.width)));
  }
  for (const { at, from, to, steps } of view.losses.slice(-retriesShown)) {
    const asked = steps.length === 0 ? "" : `, outcome asked of ${steps.join(", ")}`;
    const text = `went on from ${to} of ${from} batches at ${whenIn(at, now, term)}: the storage had lost the others${asked}`;
    lines.push(styled("yellow", fit(text, term.width)));
  }
  if (view.chapter > 1 || past) lines.push(styled("dim", `chapter ${view.chapter}`));
  return lines;
}

/** The word for a run that was read from a file, where nothing else is known of it. */
function wordOf({ status, sleeping }: RunView): RunStateName {
  return sleeping ? "sleeping" : status === "suspended" ? "waiting" : status;
}

function stateLine(view: RunView, { term, now, state = wordOf(view) }: ShowOptions): string {
  if (view.undoing !== null && (state === "cancelling" || state === "failing"))
    return statusText(term, state, `${state}, since ${whenIn(view.undoing.since, now, term)}`);
  if (state === "sleeping" && view.wakeAt !== null)
    return statusText(term, state, `sleeping, until ${whenIn(view.wakeAt, now, term)}`);
  if (state === "queued" && view.wakeAt !== null && view.wakeAt > 0)
    return statusText(term, state, `queued, due since ${whenIn(view.wakeAt, now, term)}`);
  if (state === "paused" && view.paused !== null) {
    const why = view.paused.reason === null ? "" : `: ${inline(view.paused.reason)}`;
    return statusText(term, state, `paused since ${whenIn(view.paused.since, now, term)}${why}`);
  }
  const waits = view.waits.filter(({ answered }) => !answered).map(({ key }) => key);
  const at = view.endedAt === null && waits.length > 0 ? ` at ${waits.join(", ")}` : "";
  return statusText(term, state, state === "waiting" ? `${state}${at}` : state);
}
