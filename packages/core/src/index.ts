export { durable } from "./workflow.ts";
export type { AnyWorkflow, RunArguments, Workflow, WorkflowOptions } from "./workflow.ts";
export { createApp } from "./app.ts";
export type { App, AppOptions, Sweep, SweepOptions } from "./app.ts";
export { createWorker } from "./worker.ts";
export type { Worker, WorkerOptions } from "./worker.ts";
export { parallelOf as parallel } from "./context.ts";
export type {
  Branch,
  Context,
  GroupOptions,
  MapOptions,
  ParallelOptions,
  ParallelResult,
  RaceResult,
  StepOptions,
  SuspendOptions,
} from "./context.ts";
export { fork, type Run, type RunOptions, type StartOptions } from "./run.ts";
export type { RunEntry as Entry } from "./run-entry.ts";
export { DirectJournal as Journal } from "./direct.ts";
export type { JournalOptions, RecordOptions } from "./direct.ts";
export type { RecordedStream } from "./direct-stream.ts";
export type { ForkOptions } from "./fork.ts";
export type { ReadOptions, StreamEvent } from "./reader.ts";
export type { Outcome, SuspendPoint } from "./outcome.ts";
export type { ResumeOptions, ResumeResult, ResumeStatus } from "./resume.ts";
export type { StepInfo } from "./engine/attempts.ts";
export { spendOf, type Prices, type Spend, type Usage } from "./usage.ts";
export { diff, lineage, type CallDiff, type Diff, type Given, type Lineage } from "./diff.ts";
export type { ForkPlan, PlannedCall, PlanOptions } from "./plan.ts";
export type { OnUncertain, Resolution, Uncertain } from "./engine/uncertain.ts";
export type { Chunks } from "./engine/chunks.ts";
export type { StreamOptions } from "./engine/stream.ts";
export type { SuspendPromise } from "./engine/suspend.ts";
export { nextAttemptAt, retryPolicy } from "./engine/retry.ts";
export type { RetryOptions, RetryPolicy } from "./engine/retry.ts";
export type { Settled } from "./engine/group.ts";
export type { Duration } from "./duration.ts";
export type { Ancestor, ChildOf, Cut, Edit, Fact, FactKind } from "./entry.ts";
export { DurableError, FatalError, RetryError } from "./errors.ts";
export type { ErrorCode } from "./errors.ts";
export { MemoryStorage } from "./storage/memory.ts";
export { conflict } from "./storage-kit.ts";
export { RemoteStorage, type RemoteOptions } from "./remote/storage.ts";
export type { Rebuilt } from "./remote/rebuild.ts";
export { MemoryBucket } from "./remote/memory-bucket.ts";
export type { Bucket, BucketPage, BucketQuery } from "./remote/bucket.ts";
export type {
  AppendRequest,
  Lease,
  ListPage,
  ListQuery,
  NamedBlob,
  ReadReply,
  RunHead,
  RunStatus,
  Storage,
} from "./storage.ts";
export type { AdvanceOptions } from "./engine/options.ts";
export type { Definition } from "./definition.ts";
export type { HostOptions } from "./host.ts";
export type { Secret } from "./tokens.ts";
export type { Cipher, Place } from "./cipher.ts";
export { systemWorld } from "./world.ts";
export type { World } from "./world.ts";
export type { SchemaInput, SchemaIssue, SchemaOutput, SchemaResult, StandardSchema } from "./schema.ts";
export { fingerprint } from "./codec/fingerprint.ts";
export { secret, type SecretValue } from "./secret-value.ts";
export { limits } from "./limits.ts";
