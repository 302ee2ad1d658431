/** Evals of recorded runs: another prompt or model, without effects. */

export { evaluate } from "./evaluate.ts";
export { removeEval } from "./runs.ts";
export type {
  Case,
  EvalOptions,
  RunsByFilter,
  RunsBySearch,
  RunsOfDataset,
  Threshold,
  Variant,
} from "./options.ts";
export { exact, fitsSchema, sameFields, type Score, type Scored, type Scorer } from "./scorers.ts";
export { judge, pairwise, type Judge, type JudgeModel } from "./judge.ts";
export type { CaseReport, Check, GivenScore, Report, ScoreReport, VariantReport } from "./report.ts";
export type { Amount, Said } from "./measure.ts";
export type { Estimate, Times } from "./statistics.ts";
