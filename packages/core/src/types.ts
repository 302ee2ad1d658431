/** The named shapes of options and results, for code that wraps the library. Programs rarely name them. */

export type { RunArguments, TagOptions, Topics } from "./workflow.ts";
export type { Sweep, SweepOptions } from "./inspect/sweep.ts";
export type { EndStatus, Purged } from "./runs/purge.ts";
export type { ScheduleArguments, SchedulePage, ScheduleQuery, Schedules } from "./schedules/types.ts";
export type { Missed, Overlap } from "./schedules/record.ts";
export type { WorkerPurge } from "./worker/purge-work.ts";
export type {
  CleanUp,
  ChildOptions,
  DeadlineOptions,
  GroupOptions,
  MapOptions,
  ParallelResult,
  RaceResult,
  ReceiveOptions,
} from "./engine/context.ts";
export type { ChapterOptions, EntriesOptions, ReadOptions } from "./runs/reader.ts";
export type { RunEntry as Entry, CancelReason, Undone } from "./journal/outcome.ts";
export type { RecordOptions } from "./standalone/journal.ts";
export type { RecordedStream } from "./standalone/stream.ts";
export type { PauseOptions, RetryRunOptions, UnpauseOptions } from "./runs/steer.ts";
export type { CancelOptions } from "./runs/tree.ts";
export type { ResumeOptions } from "./runs/resume.ts";
export type { Scores } from "./runs/score.ts";
export type { SendOptions, SendStatus } from "./runs/send.ts";
export type { Cancelling, OnCancelOptions, Compensate, CompensateInfo } from "./engine/calls/cleanup.ts";
export type { UsageRow } from "./values/usage.ts";
export type { StreamOptions } from "./engine/calls/stream.ts";
export type { SpawnedRun, SpawnOptions } from "./engine/calls/spawn.ts";
export type { TagChanges } from "./values/run-tags.ts";
export type { CopyOptions, CopySummary } from "./copy/copy-runs.ts";
export type { ActionType } from "./ports/policy.ts";
export type { OpenWaits, RootError } from "./ports/storage.ts";
export type { AdvanceOptions } from "./engine/stop.ts";
export type { CloseOptions } from "./app.ts";
export type {
  Defaults,
  Definition,
  FlowOptions,
  LimitKey,
  MessageSchemas,
  StepQuota,
} from "./engine/definition.ts";
export type { FlowStart } from "./runs/create.ts";
export type { HostOptions, RecordedMore } from "./runs/host.ts";
export type { SchemaInput, SchemaIssue, SchemaOutput, SchemaResult } from "./values/schema.ts";
export type { SecretValue } from "./values/secret.ts";
