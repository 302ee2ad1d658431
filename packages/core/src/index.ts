export { durable } from "./workflow.ts";
export type { AnyWorkflow, RunArguments, TagOptions, Topics, Workflow, WorkflowOptions } from "./workflow.ts";
export { createApp } from "./app.ts";
export type { App, AppOptions } from "./app.ts";
export type { Sweep, SweepOptions } from "./inspect/sweep.ts";
export type { EndStatus, Purged, PurgeOptions } from "./runs/purge.ts";
export { tickOf } from "./schedules/ticks.ts";
export type {
  ScheduleArguments,
  ScheduleInfo,
  ScheduleOptions,
  SchedulePage,
  ScheduleQuery,
  Schedules,
} from "./schedules/types.ts";
export type { Missed, Overlap } from "./schedules/record.ts";
export { createWorker } from "./worker/worker.ts";
export type { Worker, WorkerOptions } from "./worker/worker.ts";
export type { WorkerPurge } from "./worker/purge-work.ts";
export { parallelOf as parallel } from "./engine/context.ts";
export { currentContext, currentStep } from "./engine/create-context.ts";
export type {
  Branch,
  CleanUp,
  Context,
  ChildOptions,
  DeadlineOptions,
  GroupOptions,
  MapOptions,
  ParallelOptions,
  ParallelResult,
  RaceResult,
  ReceiveOptions,
  StepOptions,
  SuspendOptions,
} from "./engine/context.ts";
export type { ChapterOptions, EntriesOptions } from "./runs/reader.ts";
export { fork, type Run, type RunOptions, type StartOptions } from "./run.ts";
export type { RunEntry as Entry } from "./journal/outcome.ts";
export { Journal } from "./standalone/journal.ts";
export type { JournalOptions, RecordOptions } from "./standalone/journal.ts";
export type { RecordedStream } from "./standalone/stream.ts";
export type { ForkOptions } from "./runs/fork.ts";
export type { PauseOptions, RetryRunOptions, UnpauseOptions } from "./runs/steer.ts";
export type { ReadOptions, StreamEvent } from "./runs/reader.ts";
export type { CancelOptions } from "./runs/tree.ts";
export type { CancelReason, Outcome, SuspendPoint, Undone } from "./journal/outcome.ts";
export type { RunStateName } from "./journal/run-state.ts";
export type { ListedRun } from "./runs/list.ts";
export type { ResumeOptions, ResumeResult, ResumeStatus } from "./runs/resume.ts";
export type { SendOptions, SendResult, SendStatus } from "./runs/send.ts";
export type { StepInfo } from "./engine/calls/attempts.ts";
export type { Cancelling, OnCancelOptions } from "./engine/calls/cleanup.ts";
export type { Compensate, CompensateInfo } from "./engine/calls/cleanup.ts";
export type { Usage, UsageRow } from "./values/usage.ts";
export type { OnUncertain, Resolution, Uncertain } from "./engine/calls/uncertain.ts";
export type { Chunks } from "./engine/calls/stream.ts";
export type { StreamOptions } from "./engine/calls/stream.ts";
export type { SpawnedRun, SpawnOptions } from "./engine/calls/spawn.ts";
export type { SuspendPromise } from "./engine/calls/suspend.ts";
export type { RetryOptions } from "./engine/calls/retry.ts";
export type { Settled } from "./engine/calls/group.ts";
export type { Duration } from "./values/duration.ts";
export type { TagChanges, Tags } from "./values/run-tags.ts";
export { DurableError, FatalError, RetryError } from "./values/errors.ts";
export type { ErrorCode } from "./values/errors.ts";
export { copyRuns } from "./copy/copy-runs.ts";
export type { CopyOptions, CopyProgress, CopySummary } from "./copy/copy-runs.ts";
export { MemoryStorage } from "./adapters/memory.ts";
export type { Action, ActionType, Authorize, Verdict } from "./ports/policy.ts";
export type {
  ListPage,
  ListQuery,
  OpenWaits,
  RootError,
  RunHead,
  RunStatus,
  Storage,
} from "./ports/storage.ts";
export type { AdvanceOptions } from "./engine/stop.ts";
export type { Defaults, Definition, FlowOptions, LimitKey, MessageSchemas } from "./engine/definition.ts";
export type { QuotaOptions, StepQuota } from "./engine/definition.ts";
export type { FlowStart } from "./runs/create.ts";
export type { HostOptions } from "./runs/host.ts";
export type { Secret } from "./journal/tokens.ts";
export type { LogFields, Logger, World } from "./ports/world.ts";
export type {
  SchemaInput,
  SchemaIssue,
  SchemaOutput,
  SchemaResult,
  StandardSchema,
} from "./values/schema.ts";
export { secret, type SecretValue } from "./values/secret.ts";
export { limits } from "./values/limits.ts";
