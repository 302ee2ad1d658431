/** What the page and the server say to each other about evals. Types only. */

/** A report of an eval in the list. */
export interface EvalItem {
  readonly runId: string;
  /** The name of the eval. */
  readonly name: string;
  readonly at: number;
  readonly runs: number;
  readonly passed: boolean;
  readonly paid: number | null;
  readonly best: { readonly name: string; readonly change: number; readonly worse: number } | null;
}

/** Reports of evals, the newest first. */
export interface EvalList {
  readonly reports: readonly EvalItem[];
  readonly next: string | null;
}

/** A mean with its interval. */
export interface EvalEstimate {
  readonly n: number;
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

/** What something used; the cost is `null` where a model has no price. */
export interface EvalAmount {
  readonly calls: number;
  readonly tokens: number;
  readonly cost: number | null;
}

/** A variant of an eval; the first is what was recorded. */
export interface EvalVariant {
  readonly name: string;
  readonly n: number;
  readonly scores: Readonly<Record<string, EvalEstimate & { readonly change: EvalEstimate | null }>>;
  readonly better: number;
  readonly worse: number;
  readonly same: number;
  /** Forks without an answer. */
  readonly none: number;
  readonly paid: EvalAmount;
  readonly reused: EvalAmount;
  /** Milliseconds that models took per run for what was asked again; `null` where nothing was asked. */
  readonly time: { readonly median: number; readonly p95: number } | null;
}

/** One run with one variant. */
export interface EvalCase {
  readonly runId: string;
  readonly forkId: string;
  readonly label: string | null;
  readonly variant: string;
  readonly verdict: "worse" | "stopped" | "failed" | "skipped" | "better" | "same";
  readonly scored: readonly { readonly name: string; readonly value: number; readonly note: string }[];
  readonly before: Readonly<Record<string, number | null>>;
  readonly after: Readonly<Record<string, number | null>>;
  readonly beforeText: string;
  readonly afterText: string;
  readonly reason: string | null;
  readonly paid: EvalAmount;
  readonly reused: EvalAmount;
}

/** A report of an eval. */
export interface EvalReport {
  readonly name: string;
  readonly at: number;
  /** The run of the eval. */
  readonly id: string;
  readonly runs: number;
  readonly scores: readonly string[];
  readonly variants: readonly EvalVariant[];
  /** Regressions first. */
  readonly cases: readonly EvalCase[];
  readonly paid: EvalAmount;
  readonly judges: EvalAmount;
  readonly reused: EvalAmount;
  readonly providerTools: readonly string[];
  readonly checks: readonly { readonly text: string; readonly passed: boolean }[];
  /** There are more cases than are shown. */
  readonly more: boolean;
}
