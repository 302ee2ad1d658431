/** The options of an eval, checked, and as data that names what they ask for. */

import { DurableError, type App, type ForkOptions, type RunQuery } from "@durable/core";
import { assertOptions, codeFor, fingerprint, type EvalVariant, type Stub } from "@durable/core/storage";
import type { Judge } from "./judge.ts";
import type { Score, Scored, Scorer } from "./scorers.ts";

/** What is tried: a model, a system prompt, other recorded outputs, or other code. */
export interface Variant extends EvalVariant {
  readonly name: string;
  /** Recorded outputs to replace before the cut, by key. */
  readonly edit?: ForkOptions["edit"];
  /** An app with the changed code. Its storage is not used. */
  readonly app?: App | undefined;
  /** Another text for code that was changed where the eval does not see it: the variant is then asked anew. */
  readonly version?: string | undefined;
}

/** A recorded run, with what is known of it. */
export interface Case {
  readonly runId: string;
  /** The answer that is expected. */
  readonly expected?: unknown;
  /** Words for the report. */
  readonly label?: string | undefined;
}

/** The newest runs of a list. */
export type RunsByFilter = Omit<RunQuery, "eval" | "cursor" | "signal" | "dueAt"> & {
  readonly limit: number;
};

/** The newest runs that fit a search, as on the page: `score:helpful<1 workflow:support since:7d`. */
export interface RunsBySearch {
  readonly search: string;
  readonly limit: number;
}

/** The runs of a folder that `durable export --dataset` wrote. They are copied to the storage of the app. */
export interface RunsOfDataset {
  readonly dataset: string;
}

/** What a score must reach, or the eval has failed. */
export interface Threshold {
  /** The mean of each variant is at least this. */
  readonly min?: number | undefined;
  /** The mean of each variant is at most this much below that of the record. */
  readonly drop?: number | undefined;
  /** At most this many runs got worse by this score, or failed. */
  readonly worse?: number | undefined;
}

/** Options of `evaluate`. */
export interface EvalOptions {
  /** Names the eval, and all its runs. */
  readonly name: string;
  /** Ids of recorded runs, with what is expected of them, or a filter, a search or a dataset of runs. */
  readonly runs: readonly (string | Case)[] | RunsByFilter | RunsBySearch | RunsOfDataset;
  /** Where each run is cut: what comes from there on is asked again. `{ turn: -1 }`, the last answer of a model, by default. */
  readonly from?: ForkOptions["from"];
  readonly variants: readonly Variant[];
  /**
   * What a call of a tool, or any other step, gets after the cut: what the original recorded for an equal call (`recorded`), nothing,
   * so that the fork ends there (`refuse`), or functions by the name of the tool or step; others are `recorded`.
   */
  readonly tools?: "recorded" | "refuse" | Readonly<Record<string, Stub>> | undefined;
  /** Scorers by name; the first decides what is better and worse. A function may give several scores. */
  readonly score:
    | Readonly<Record<string, Scorer>>
    | ((one: Scored) => Readonly<Record<string, Score>> | Promise<Readonly<Record<string, Score>>>);
  /** How many forks are driven at the same time; 4 by default. */
  readonly concurrency?: number | undefined;
  /** No fork begins once the forks have spent this much, in the currency of the app's prices. */
  readonly budget?: number | undefined;
  /** By the name of a score. */
  readonly thresholds?: Readonly<Record<string, Threshold>> | undefined;
  /** Ends the eval. Called again, it goes on. */
  readonly signal?: AbortSignal | undefined;
}

const known = "name runs from variants tools score concurrency budget thresholds signal";

export function checked(options: EvalOptions): EvalOptions {
  assertOptions(options, known, "evaluate");
  const { name, variants, score, concurrency = 1, budget = 0, thresholds = {} } = options;
  if (typeof name !== "string" || !/^[\w. -]{1,60}$/.test(name))
    throw invalid(`the name ${JSON.stringify(name)}. Use 1 to 60 letters, digits, spaces, dots, - or _`);
  const names = variants.map((variant) => variant.name);
  if (variants.length === 0 || new Set(names).size < names.length || names.includes(recordName))
    throw invalid(
      `variants named ${JSON.stringify(names)}. Give each its own name, and none "${recordName}"`,
    );
  for (const variant of variants)
    assertOptions(
      variant,
      "name model prompt edit app version",
      `The variant "${variant.name}" of eval "${name}"`,
    );
  if (typeof score !== "function" && Object.keys(score).length === 0)
    throw invalid("no score. Give at least one");
  if (!(concurrency >= 1)) throw invalid(`a concurrency of ${concurrency}. Use at least 1`);
  if (!(budget >= 0)) throw invalid(`a budget of ${budget}. Use a number of at least 0`);
  for (const [of, limits] of Object.entries(thresholds)) {
    assertOptions(limits, "min drop worse", `The threshold of "${of}" of eval "${name}"`);
    for (const [limit, value] of Object.entries(limits))
      if (value !== undefined && !Number.isFinite(value))
        throw invalid(`a threshold "${limit}" of ${value} for "${of}". Use a number`);
  }
  return options;
}

function invalid(what: string): DurableError {
  return new DurableError("invalid-options", `evaluate got ${what}.`);
}

/** The name of what was recorded, beside those of variants. */
export const recordName = "record";

/** All that the answers of a variant depend on, as a short text. */
export function identityOf(
  { name, from, tools = "recorded" }: EvalOptions,
  variant: Variant,
  workflow: string,
): string {
  const { model, prompt, edit = {}, app, version = "" } = variant;
  const { provider, modelId } = (model ?? {}) as Readonly<Record<string, unknown>>;
  const code = app === undefined ? null : codeFor(app, workflow);
  const parts = [
    name,
    variant.name,
    from ?? null,
    [String(provider), String(modelId)],
    String(prompt),
    edit,
    version,
    code === null ? "" : [code.version, String(code.body)],
    typeof tools === "string" ? tools : Object.entries(tools).map(([tool, stub]) => [tool, String(stub)]),
  ];
  return fingerprint(parts, `variant "${variant.name}"`);
}

/** The judges among the scorers, by the name of their score. */
export function judgesOf({ score }: EvalOptions): readonly (readonly [string, Judge])[] {
  if (typeof score === "function") return [];
  return Object.entries(score).flatMap(([name, scorer]) =>
    typeof scorer === "function" ? [] : [[name, scorer] as const],
  );
}
