/** What a run said and used, from its entries. */

import { allRows, answerText, partsOfChunk, spendOf, viewRun, type Spend } from "@durable/core/inspect";
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
  const rows = allRows(viewRun(entries)).filter(({ kind }) => kind === "step" || kind === "stream");
  const turns = rows
    .filter(({ turn }) => turn !== undefined)
    .toSorted((a, b) => (a.turn ?? 0) - (b.turn ?? 0));
  const amount = (inherited: boolean): Amount => {
    const own = rows.filter(({ fromJournal }) => fromJournal === inherited);
    const { inputTokens, outputTokens, cost } = spendOf(own.flatMap(({ usage }) => usage)) satisfies Spend;
    // A step of another client says that it asked a model by what it used.
    const calls = own.filter(({ turn, usage }) => turn !== undefined || usage.length > 0).length;
    // What asked nothing cost nothing.
    return { calls, inputTokens, outputTokens, cost: calls === 0 ? 0 : cost };
  };
  const end = entries.findLast(({ kind }) => kind === "run.completed");
  const fresh = turns.filter(({ fromJournal }) => !fromJournal);
  return {
    said: {
      output: end?.kind === "run.completed" ? end.output : undefined,
      text: answerText(turns.at(-1)?.value),
    },
    paid: amount(false),
    reused: amount(true),
    answered: entries.filter((entry) => "answered" in entry).length,
    providerTools: [...new Set(fresh.flatMap(({ value }) => toolsOfProvider(value)))].toSorted(),
  };
}

/** Tools in an answer that ran at the provider: no eval can stop them. */
function toolsOfProvider(value: unknown): string[] {
  const { content } = Object(value) as { readonly content?: unknown };
  const parts = Array.isArray(value) ? value.flatMap(partsOfChunk) : Array.isArray(content) ? content : [];
  return parts.flatMap((part: unknown) => {
    const { type, providerExecuted, toolName } = Object(part) as Readonly<Record<string, unknown>>;
    return type === "tool-call" && providerExecuted === true ? [String(toolName)] : [];
  });
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
