/** `durable show`: the life of one run as a waterfall. */

import { answerText, plain, type RowView, type RunView, type WaitView } from "@durable/core/inspect";
import type { Command } from "../command.ts";
import { CliError, exit } from "../exit.ts";
import { lookAt, type Look } from "../look.ts";
import { findRun, shortId } from "../runs.ts";
import { styled, type Terminal } from "../terminal.ts";
import { duration, errorLines, inline, turnText, whenIn } from "../text/format.ts";
import { header, type ShowOptions } from "../text/run-head.ts";
import { spentJson } from "../text/spent.ts";
import { scoredText } from "../text/score.ts";
import { schemaText } from "../text/schema.ts";
import { noteLines } from "../text/note.ts";
import { promptIn, promptLines } from "../text/prompt.ts";
import { waterfall } from "../text/waterfall.ts";
import { fit } from "../text/width.ts";

export const show: Command = {
  usage: "<run> [--step key] [--prompt key] [--journal] [--all]",
  summary: "Shows one run: steps in time, attempts, waits, tokens and cost",
  arguments: [1, 1],
  examples: ["durable show order-7", "durable show @failed", "durable show order-7 --step draft"],
  options: {
    step: { type: "string", value: "key", help: "one step: its attempts, its output, its error" },
    prompt: { type: "string", value: "key", help: "what was asked of a model, and what is new in it" },
    journal: { type: "boolean", help: "the entries of the journal instead" },
    all: { type: "boolean", help: "every row of a long run" },
    "no-fold": { type: "boolean", help: "idle time to scale" },
    chapter: { type: "string", value: "number", help: "an earlier chapter of a run that continues as new" },
  },
  run: async ({ args: [reference = ""], flags, term, now, session, answer }) => {
    const { app, prices } = await session();
    const runId = await findRun(app, reference);
    const chapter = flags.text("chapter");
    const look = await lookAt(app, runId, {
      prices,
      now: now(),
      withChildren: true,
      chapter: chapter === undefined ? undefined : Number(chapter),
    });
    const key = flags.text("step");
    const asked = flags.text("prompt");
    if (asked !== undefined) {
      const prompt = promptIn(look, rowOf(look.view, asked));
      answer({ json: { runId, prompt }, text: promptLines(prompt) });
    } else if (key !== undefined) {
      const row = rowOf(look.view, key);
      const struck = struckOf(look.view, row.key);
      answer({
        json: { runId, step: row, ...(struck.length === 0 ? {} : { struck }) },
        text: [row, ...struck].flatMap((each) => stepLines(each, now(), term)),
      });
    } else if (flags.on("journal")) {
      answer({
        json: { runId, entries: look.entries },
        text: look.entries.map((entry) => entryLine(entry, look.view.startedAt)),
      });
    } else {
      const options = {
        term,
        now: now(),
        prices,
        sums: look.sums,
        past: look.past,
        state: look.state,
        all: flags.on("all"),
        fold: !flags.on("no-fold"),
      };
      answer({
        json: runJson(look),
        text: [
          ...header(look.view, options),
          "",
          ...waterfall(look.view, options),
          ...reportLines(look, term),
          ...footer(look.view, options),
        ],
        next: nextOf(look),
      });
    }
    return exit.ok;
  },
};

/** The step before each retry that let it begin anew. */
function struckOf({ retries }: RunView, key: string): RowView[] {
  return retries.flatMap(({ rows }) => rows.filter((row) => row.key === key));
}

/** What the run shows of itself, and what it is found by. */
function reportLines({ outcome, tags, view }: Look, term: Terminal): string[] {
  const scored = view.scores.map(scoredText);
  const tagged = Object.entries(tags).map(([name, value]) => `${name}=${value}`);
  return [
    ...(outcome?.report === undefined
      ? []
      : ["", ` report  ${fit(inline(outcome.report, 1_000), term.width - 10)}`]),
    ...(tagged.length === 0 ? [] : ["", ` tags    ${fit(inline(tagged.join(" "), 1_000), term.width - 10)}`]),
    ...(scored.length === 0 ? [] : ["", ` scores  ${fit(inline(scored.join(" "), 1_000), term.width - 10)}`]),
  ];
}

/** A run for machines. */
export function runJson({ view, outcome, tags, state, sums }: Look): Readonly<Record<string, unknown>> {
  const waiting = outcome !== null && "waiting" in outcome ? outcome.waiting : [];
  return {
    run: {
      ...view,
      ...spentJson(view, sums),
      state,
      waits: view.waits,
      waiting: waiting.map(({ key, name, note, schema, expiresAt, topic }) => ({
        key,
        name,
        note,
        schema,
        expiresAt,
        ...(topic === undefined ? {} : { topic }),
      })),
      ...(outcome?.report === undefined ? {} : { report: outcome.report }),
      ...(Object.keys(tags).length === 0 ? {} : { tags }),
    },
  };
}

function rowOf(view: RunView, name: string): RowView {
  const { runId } = view;
  // A step that has not begun anew is shown as it was.
  const rows = [...view.rows, ...view.retries.flatMap((retry) => retry.rows)];
  const found = rows.find(({ key }) => key === name) ?? only(rows.filter((row) => row.name === name));
  if (found !== undefined) return found;
  const keys = rows.map(({ key }) => key).slice(0, 20);
  throw new CliError(`Run ${runId} has no step "${name}", or several. Its keys: ${keys.join(", ")}`, {
    exit: exit.notFound,
    code: "unknown-step",
  });
}

function only<T>(found: readonly T[]): T | undefined {
  return found.length === 1 ? found[0] : undefined;
}

/** What follows the waterfall: why it is blocked, what it asks, how it failed, what it gave. */
export function footer(view: RunView, { term, now }: ShowOptions): string[] {
  const lines: string[] = [];
  if (view.blocked !== null) lines.push("", styled("red", ` ${view.blocked.code}: ${view.blocked.message}`));
  for (const wait of view.waits) lines.push("", ...waitLines(wait, term, now));
  const { undoing } = view;
  if (view.status === "failed" && "error" in view) lines.push("", ...causes(view.error));
  if (undoing?.status === "failed") lines.push("", ...causes(undoing.error));
  const reason =
    view.status === "cancelled" ? view.error : undoing?.status === "cancelled" ? undoing.error : null;
  if (reason !== null && reason !== undefined) lines.push("", ` reason  ${inline(reason)}`);
  if (view.output !== undefined)
    lines.push("", ` output  ${fit(inline(view.output, 1_000), term.width - 10)}`);
  for (const [what, keys] of [
    ["recorded results that the code did not use", view.orphans],
    ["work that was still running at the end", view.abandoned],
    ["failures that the code never looked at", view.unawaited],
    ["steps that could not be undone", view.uncompensated],
  ] as const)
    if (keys.length > 0) lines.push(styled("yellow", ` ${what}: ${keys.join(", ")}`));
  return lines;
}

function causes(error: unknown): string[] {
  return errorLines(error).map((line, i) => styled("red", i === 0 ? ` ${line}` : `   because ${line}`));
}

export function waitLines(
  { key, note, schema, expiresAt, answered }: WaitView,
  term: Terminal,
  now: number,
): string[] {
  const state = answered
    ? "answered, not read yet"
    : expiresAt === null
      ? ""
      : `until ${whenIn(expiresAt, now, term)}`;
  return [
    `${styled("yellow", ` ${term.glyph("⏸", "?")} ${key}`)} ${styled("dim", state)}`.trimEnd(),
    ...noteLines(note, term.width - 12),
    ...(schema === null || schema === undefined
      ? []
      : [`   wants  ${fit(schemaText(schema), term.width - 12)}`]),
  ];
}

function stepLines(row: RowView, now: number, term: Terminal): string[] {
  const lines = [
    `${styled("bold", row.key)}  ${row.kind} ${row.status}${row.fromJournal ? ", from the journal" : ""}${row.struck === undefined ? "" : `, before the retry of ${whenIn(row.struck, now, term)}`}`,
  ];
  if (row.turn !== undefined) lines.push(`  ${turnText(row)}`);
  for (const { number, startedAt, endedAt, retryAt, ...attempt } of row.attempts) {
    const next = retryAt === undefined ? "" : `, next after ${duration(retryAt - (endedAt ?? retryAt))}`;
    lines.push(
      `  attempt ${number}  ${duration((endedAt ?? now) - startedAt)}${"error" in attempt ? " failed" : ""}${next}`,
    );
    if ("error" in attempt)
      lines.push(...errorLines(attempt.error).map((line) => styled("red", `    ${line}`)));
  }
  for (const used of row.usage)
    lines.push(`  ${used.model}  ${used.inputTokens} in, ${used.outputTokens} out`);
  if (row.prompt === true)
    lines.push(styled("dim", `  durable show <run> --prompt '${row.key}' has what was asked`));
  if ("progress" in row) lines.push("", `progress  ${JSON.stringify(plain(row.progress))}`);
  const said = "value" in row ? answerText(row.value) : "";
  if (said !== "") lines.push("", ...said.split("\n"), styled("dim", "  --json has all that was recorded"));
  else if ("value" in row) lines.push("", JSON.stringify(plain(row.value), null, 2));
  return lines;
}

function entryLine(entry: Look["entries"][number], start: number): string {
  const { kind, at, seq, outside, struck, ...rest } = entry;
  const { key, after: _, ...about } = rest as { key?: string; after?: number };
  const where = key === undefined ? "" : ` ${key}`;
  const line = `${String(seq).padStart(5)} ${duration(at - start).padStart(8)}  ${kind}${where}${outside ? " (outside)" : ""}`;
  if (struck !== undefined) return styled("dim", `${line} (struck by entry ${struck}) ${inline(about, 160)}`);
  return `${line} ${styled("dim", inline(about, 160))}`;
}

function nextOf({ view: { runId, status, waits, rows }, retriable }: Look): string[] {
  const id = shortId(runId);
  const failed = rows.find(
    (row) => row.status === "failed" && row.kind !== "parallel" && row.kind !== "branch",
  );
  const last = rows.findLast(({ kind, seq }) => kind === "step" && seq !== null);
  const next: string[] = [];
  if (waits.some(({ topic }) => topic === undefined)) next.push(`durable resume ${id}`);
  else if (waits[0] !== undefined) next.push(`durable send ${id} '${waits[0].topic ?? ""}' '...'`);
  if (status === "paused") next.push(`durable unpause ${id}`);
  if (retriable) next.push(`durable retry ${id}`);
  if (status === "failed")
    next.push(`durable fork ${id} --from-failure${failed === undefined ? "" : `   (at ${failed.key})`}`);
  else if (last !== undefined) next.push(`durable fork ${id} --from '${last.key}'`);
  if (status === "blocked") next.push(`durable replay ${id}`);
  return [...next, `durable ui`].slice(0, 3);
}
