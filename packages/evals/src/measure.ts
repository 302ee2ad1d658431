/** What a run said and used, from its entries. */

import {
  allRows,
  answerText,
  partsOfChunk,
  type RowView,
  spendOf,
  viewRun,
  type Spend,
} from "@durable/core/inspect";
import type { Entry } from "@durable/core/types";

/** How a run ended, for scorers and reports. */
export interface Said {
  /** The output of the run; `undefined` where it has none. */
  readonly output: unknown;
  /** The words of its last answer of a model. */
  readonly text: string;
}

/** What work used. */
export interface Amount {
  /** Answers of models. */
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** `null` where a model has no price. */
  readonly cost: number | null;
}

/** How long models took for what was asked again, in milliseconds; `null` where nothing was asked. */
export interface Took {
  /** As it was recorded. */
  readonly before: number | null;
  readonly after: number | null;
}

export interface Measured {
  readonly said: Said;
  /** What the run itself asked and used. */
  readonly paid: Amount;
  /** What it inherited: paid for once, by the run before it. */
  readonly reused: Amount;
  /** Calls that were answered from the original after the cut. */
  readonly answered: number;
  /** Tools that the provider itself executed in the run's own answers. */
  readonly providerTools: readonly string[];
}

export function measured(entries: readonly Entry[]): Measured {
  const rows = worked(entries);
  const turns = rows
    .filter(({ turn }) => turn !== undefined)
    .toSorted((a, b) => (a.turn ?? 0) - (b.turn ?? 0));
  const copies = copiedIn(entries);
  const own = rows.filter((row) => !row.fromJournal && !copies.has(row.key));
  const end = entries.findLast(({ kind }) => kind === "run.completed");
  return {
    said: {
      output: end?.kind === "run.completed" ? end.output : undefined,
      text: answerText(turns.at(-1)?.value),
    },
    paid: amountOf(own),
    reused: amountOf(rows.filter(({ fromJournal }) => fromJournal)),
    answered: entries.filter((entry) => "answered" in entry).length,
    providerTools: [
      ...new Set(own.filter(isAsked).flatMap(({ value }) => toolsOfProvider(value))),
    ].toSorted(),
  };
}

function worked(entries: readonly Entry[]): RowView[] {
  return allRows(viewRun(entries)).filter(({ kind }) => kind === "step" || kind === "stream");
}

/** Calls whose outcome was taken over from another: by changed code, or by an eval. */
function copiedIn(entries: readonly Entry[]): ReadonlySet<string> {
  return new Set(
    entries.flatMap((entry) =>
      "answered" in entry || ("kept" in entry && entry.kept !== undefined) ? [entry.key] : [],
    ),
  );
}

/** True for a call of a model. A step of another client says that it is one by what it used. */
function isAsked({ turn, usage }: RowView): boolean {
  return turn !== undefined || usage.length > 0;
}

function amountOf(rows: readonly RowView[]): Amount {
  const { inputTokens, outputTokens, cost } = spendOf(rows.flatMap(({ usage }) => usage)) satisfies Spend;
  const calls = rows.filter(isAsked).length;
  // What asked nothing cost nothing.
  return { calls, inputTokens, outputTokens, cost: calls === 0 ? 0 : cost };
}

/** How long the answers of models took that a fork asked for, and those in whose place they are. */
export function tookOf(original: readonly Entry[], fork: readonly Entry[]): Took {
  const rows = worked(fork);
  const inherited = new Set(rows.filter(({ fromJournal }) => fromJournal).map(({ key }) => key));
  const copies = copiedIn(fork);
  const before = worked(original).filter(({ key }) => !inherited.has(key));
  return {
    before: msOf(before),
    after: msOf(rows.filter(({ key }) => !inherited.has(key) && !copies.has(key))),
  };
}

/** The last attempt of each counts: the time between attempts is not that of the model. */
function msOf(rows: readonly RowView[]): number | null {
  const times = rows
    .filter((row) => row.struck === undefined && isAsked(row))
    .flatMap(({ attempts }) => attempts.slice(-1))
    .flatMap(({ startedAt, endedAt }) => (endedAt === null ? [] : [Math.max(0, endedAt - startedAt)]));
  return times.length === 0 ? null : times.reduce((sum, ms) => sum + ms, 0);
}

/** Tools in an answer that ran at the provider, as the AI SDK and the OpenAI Agents SDK have them: no eval can stop them. */
function toolsOfProvider(value: unknown): string[] {
  return itemsIn(value).flatMap((item) => {
    const { type, providerExecuted, toolName, name } = Object(item) as Readonly<Record<string, unknown>>;
    if (type === "hosted_tool_call") return [String(name)];
    return type === "tool-call" && providerExecuted === true ? [String(toolName)] : [];
  });
}

/** The parts of an answer, whole or streamed. */
function itemsIn(value: unknown): readonly unknown[] {
  if (Array.isArray(value))
    return value.flatMap(partsOfChunk).flatMap((part) => {
      const { type, response } = Object(part) as Readonly<Record<string, unknown>>;
      return type === "response_done" ? itemsIn(response) : [part];
    });
  const { content, output } = Object(value) as Readonly<Record<string, unknown>>;
  const items = content ?? output;
  return Array.isArray(items) ? items : [];
}

/** The sum of amounts. A cost that is known in part is not known. */
export function sumOf(amounts: readonly Amount[]): Amount {
  const sum = (of: (one: Amount) => number): number => amounts.reduce((all, one) => all + of(one), 0);
  const isKnown = amounts.every(({ cost }) => cost !== null);
  return {
    calls: sum(({ calls }) => calls),
    inputTokens: sum(({ inputTokens }) => inputTokens),
    outputTokens: sum(({ outputTokens }) => outputTokens),
    cost: isKnown ? sum(({ cost }) => cost ?? 0) : null,
  };
}
