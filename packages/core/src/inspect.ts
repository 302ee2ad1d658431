/** For tools: what a run did, as rows, differences, plans and sums; and what a storage holds. */

export type { EditedCalls } from "./runs/reader.ts";
export { spendOf, type Prices, type Spend } from "./inspect/spend.ts";
export { diff, lineage, type CallDiff, type Diff, type Given, type Lineage } from "./inspect/diff.ts";
export type { ForkPlan, PlannedCall, PlanOptions } from "./inspect/plan.ts";
export {
  viewRun,
  busyMs,
  foldGaps,
  positionOn,
  plain,
  locatorOf,
  type WaitView,
  type RunTotals,
  type RunView,
  type UndoingView,
  type ViewOptions,
  type Axis,
  type AxisPart,
  type FoldOptions,
  type Plain,
  type PlainOptions,
  type AttemptView,
  type RowKind,
  type RowStatus,
  type RowView,
} from "./inspect/view.ts";
export {
  replayRun,
  wakeRun,
  storageOf,
  fleetOf,
  limitUse,
  type Replayed,
  type ReplayOptions,
  type Fleet,
  type WorkerInfo,
  type WorkflowLoad,
  type LimitUse,
  type WindowUse,
} from "./tools.ts";
