/** The events that hooks get. */

export type {
  AroundAttempt,
  AttemptEnd,
  AttemptEvent,
  BlockedEvent,
  BudgetEvent,
  EndEvent,
  HookEvent,
  Hooks,
  HooksOption,
  ParentOfRun,
  RunEvent,
  RunStop,
  StepEvent,
  WaitEvent,
} from "./engine/hooks.ts";
