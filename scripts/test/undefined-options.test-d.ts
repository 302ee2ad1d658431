/**
 * Every optional property of every options type accepts `undefined`, so that `{ secret: process.env.SECRET }` compiles
 * under `exactOptionalPropertyTypes`. Checked by `npm run types`; undefined-options.test.ts checks that none is missing.
 */

import type {
  Approval,
  ApprovalOptions,
  DownloadOptions,
  FamilyUsageOptions,
  MCPToolsOptions,
  ModelOptions,
  ToolOptions,
  ToolsOptions,
  UsageOptions,
} from "@durable/ai-sdk";
import type {
  ChatMessagesOptions,
  ChatOptions,
  ChatUsageOptions,
  DeleteChatOptions,
  ListChatsOptions,
} from "@durable/ai-sdk/chat";
import type { ChatRequestOptions, ChatSendOptions, ChatTransportOptions } from "@durable/ai-sdk/chat-client";
import type {
  ConsumerOptions,
  R2Options,
  RequestBudgetOptions,
  RunsObjectOptions,
} from "@durable/cloudflare";
import type {
  App,
  AppOptions,
  BudgetOptions,
  DurableError,
  FatalError,
  ForkOptions,
  JournalOptions,
  QuotaOptions,
  ListPage,
  ListQuery,
  MemoryStorage,
  ParallelOptions,
  RetryError,
  RetryOptions,
  Run,
  RunOptions,
  ScheduleOptions,
  StartOptions,
  StepOptions,
  SuspendOptions,
  PurgeOptions,
  Workflow,
  WorkerOptions,
  WorkflowOptions,
} from "@durable/core";
import type {
  AdvanceOptions,
  CancelOptions,
  ChapterOptions,
  CloseOptions,
  CopyOptions,
  DeadlineOptions,
  Defaults,
  EntriesOptions,
  FlowOptions,
  FlowStart,
  GroupOptions,
  HostOptions,
  MapOptions,
  OnCancelOptions,
  PauseOptions,
  ReadOptions,
  ReceiveOptions,
  RecordOptions,
  ResumeOptions,
  RetryRunOptions,
  SendOptions,
  ScheduleQuery,
  SpawnOptions,
  ChildOptions,
  StepQuota,
  StreamOptions,
  SweepOptions,
  TagOptions,
  UnpauseOptions,
  Topics,
  MessageSchemas,
  WorkerPurge,
} from "@durable/core/types";
import type { ApprovalOptions as AskOptions, FetchOptions, LiveOptions } from "@durable/core/clients";
import type { Hooks } from "@durable/core/hooks";
import type {
  ChildSumsOptions,
  CostsOptions,
  FleetOptions,
  PlanOptions,
  PulseOptions,
  SpendOptions,
} from "@durable/core/inspect";
import type { BucketQuery, RemoteOptions } from "@durable/core/remote";
import type { StoredScheduleQuery } from "@durable/core/storage";
import type { AesGcmOptions } from "@durable/core/encryption";
import type { FolderOptions } from "@durable/core/folder";
import type { IndexedDBOptions } from "@durable/core/indexeddb";
import type { BackupOptions, CompactOptions, SqliteOptions } from "@durable/core/sqlite";
import type { ReplayOptions } from "@durable/core/inspect";
import type { FoldOptions, PlainOptions, SpentTextsOptions, ViewOptions } from "@durable/core/inspect";
import type { CliConfig, CliStreams } from "@durable/cli";
import type { EvalOptions } from "@durable/evals";
import type {
  HandlerOptions,
  HttpError,
  openApi,
  ProfileOptions,
  readForm,
  readJson,
  StandardWebhooksOptions,
  startOnce,
  WebhookOptions,
} from "@durable/http";
import type { ClientOptions, ClientQuery, ClientStart, ResultOptions } from "@durable/http/client";
import type { ServeOptions } from "@durable/http/node";
import type { DashboardOptions, ExportOptions } from "@durable/dashboard";
import type { ServeDashboardOptions } from "@durable/dashboard/node";
import type {
  ModelOptions as AgentModelOptions,
  ToolOptions as AgentToolOptions,
  ToolsOptions as AgentToolsOptions,
} from "@durable/openai-agents";
import type { MigrateOptions, PostgresOptions } from "@durable/postgres";
import type { ObserveOptions, TelemetryOptions } from "@durable/otel";
import type { Credentials, S3Options } from "@durable/s3";
import type { ExploreOptions, ShrinkOptions, SimulateOptions } from "@durable/simulator";
import type {
  CrashOptions,
  CrashReport,
  FaultOptions,
  FaultyBucketOptions,
  GoldenOptions,
  RecordGoldenOptions,
  scriptedModel,
  VirtualWorldOptions,
} from "@durable/testing";
import type { BucketConformanceOptions, ConformanceOptions, OpenOptions } from "@durable/testing/conformance";
import { expectTypeOf } from "vitest";

/** The optional properties that refuse an explicit `undefined`. */
type Refusing<T> = T extends unknown
  ? {
      [K in keyof T]-?: object extends Pick<T, K>
        ? { readonly [P in K]: undefined } extends Pick<T, K>
          ? never
          : K
        : never;
    }[keyof T]
  : never;
type OptionsOf<F extends (...args: never[]) => unknown, N extends number = 0> = NonNullable<Parameters<F>[N]>;
type MadeWith<C extends abstract new (...args: never[]) => unknown, N extends number> = NonNullable<
  ConstructorParameters<C>[N]
>;

// The check itself: it sees what refuses, in plain, partial and united types.
expectTypeOf<Refusing<{ a?: string; b?: string | undefined; c: string }>>().toEqualTypeOf<"a">();
expectTypeOf<Refusing<Partial<{ a: string; b: string | undefined }>>>().toEqualTypeOf<"a">();
expectTypeOf<Refusing<{ a?: () => void } | { b?: 1 }>>().toEqualTypeOf<"a" | "b">();
expectTypeOf<Refusing<{ a?: unknown }>>().toBeNever();

interface Listed {
  readonly core: [
    AdvanceOptions,
    AppOptions,
    BudgetOptions,
    BucketQuery,
    CancelOptions,
    FlowOptions,
    QuotaOptions,
    OnCancelOptions,
    ChapterOptions,
    CloseOptions,
    CopyOptions,
    DeadlineOptions,
    Defaults,
    EntriesOptions,
    FlowOptions<{ x: number }>,
    FlowStart,
    ForkOptions<{ x: number }>,
    GroupOptions,
    HostOptions,
    JournalOptions,
    QuotaOptions,
    ListQuery,
    MapOptions<string>,
    OnCancelOptions,
    ParallelOptions,
    PauseOptions,
    PlanOptions,
    SpendOptions,
    ChildSumsOptions,
    CostsOptions,
    FleetOptions,
    PulseOptions,
    EvalOptions,
    ReadOptions,
    ReceiveOptions,
    RecordOptions,
    RemoteOptions,
    ResumeOptions,
    RetryOptions,
    RetryRunOptions,
    RunOptions,
    SendOptions,
    ScheduleOptions<{ x: number }>,
    ScheduleQuery,
    StoredScheduleQuery,
    StartOptions,
    SpawnOptions,
    ChildOptions,
    StepOptions,
    Exclude<StepQuota, string>,
    TagOptions<unknown>,
    StreamOptions,
    SuspendOptions,
    PurgeOptions,
    SweepOptions,
    UnpauseOptions,
    Topics<MessageSchemas>,
    WorkerOptions,
    WorkerPurge,
    WorkflowOptions,
    OptionsOf<Run["result"]>,
    OptionsOf<Run["fork"]>,
    OptionsOf<Run["plan"]>,
    OptionsOf<Workflow<string, string>["list"]>,
    OptionsOf<App["list"]>,
    MadeWith<typeof DurableError, 2>,
    MadeWith<typeof FatalError, 1>,
    MadeWith<typeof RetryError, 1>,
    MadeWith<typeof MemoryStorage, 0>,
    BackupOptions,
    CompactOptions,
    SqliteOptions,
    FolderOptions,
    IndexedDBOptions,
    AesGcmOptions,
    FoldOptions,
    PlainOptions,
    SpentTextsOptions,
    ViewOptions,
    ReplayOptions,
  ];
  readonly cli: [CliConfig, CliStreams];
  readonly http: [
    HandlerOptions,
    NonNullable<HandlerOptions["limits"]>,
    ProfileOptions,
    StandardWebhooksOptions,
    WebhookOptions,
    NonNullable<WebhookOptions["limits"]>,
    ServeOptions,
    ClientOptions,
    ClientQuery,
    ClientStart,
    ResultOptions,
    MadeWith<typeof HttpError, 2>,
    OptionsOf<typeof openApi>,
    OptionsOf<typeof readForm, 1>,
    OptionsOf<typeof readJson, 1>,
    OptionsOf<typeof startOnce, 1>,
  ];
  readonly ai: [ApprovalOptions, ModelOptions, ToolOptions, UsageOptions, ChatOptions, Approval];
  readonly aiUsage: [ChatUsageOptions, FamilyUsageOptions];
  readonly aiMore: [DownloadOptions, MCPToolsOptions, ToolsOptions<{ readonly pay: object }>];
  readonly aiChats: [ChatMessagesOptions, DeleteChatOptions, ListChatsOptions];
  readonly clients: [AskOptions, FetchOptions, LiveOptions<string>];
  readonly agents: [AgentModelOptions, AgentToolOptions, AgentToolsOptions];
  readonly aiChat: [ChatRequestOptions, ChatSendOptions, ChatTransportOptions];
  readonly postgres: [MigrateOptions, PostgresOptions];
  readonly dashboard: [DashboardOptions, ExportOptions, ServeDashboardOptions];
  readonly otel: [Hooks, ObserveOptions, TelemetryOptions];
  readonly s3: [S3Options, Credentials];
  readonly cloudflare: [RequestBudgetOptions, ConsumerOptions, R2Options, RunsObjectOptions<object>];
  readonly simulator: [
    ExploreOptions<string, string>,
    ExploreOptions<undefined, string>,
    ShrinkOptions,
    SimulateOptions,
  ];
  readonly testing: [
    CrashOptions<string, string>,
    CrashOptions<undefined, string>,
    FaultOptions,
    FaultyBucketOptions,
    GoldenOptions,
    OptionsOf<CrashReport["text"]>,
    OptionsOf<typeof scriptedModel, 1>,
    RecordGoldenOptions,
    VirtualWorldOptions,
    BucketConformanceOptions,
    ConformanceOptions,
    OpenOptions,
  ];
}

type AllRefusing = { [P in keyof Listed]: { [I in keyof Listed[P]]: Refusing<Listed[P][I]> } };
expectTypeOf<AllRefusing["core"][number]>().toBeNever();
expectTypeOf<AllRefusing["http"][number]>().toBeNever();
expectTypeOf<AllRefusing["ai"][number]>().toBeNever();
expectTypeOf<AllRefusing["clients"][number]>().toBeNever();
expectTypeOf<AllRefusing["agents"][number]>().toBeNever();
expectTypeOf<AllRefusing["aiChats"][number]>().toBeNever();
expectTypeOf<AllRefusing["otel"][number]>().toBeNever();
expectTypeOf<AllRefusing["s3"][number]>().toBeNever();
expectTypeOf<AllRefusing["dashboard"][number]>().toBeNever();
expectTypeOf<AllRefusing["cloudflare"][number]>().toBeNever();
expectTypeOf<AllRefusing["simulator"][number]>().toBeNever();
expectTypeOf<AllRefusing["testing"][number]>().toBeNever();

// The next page is asked for with what the last one gave.
declare const page: ListPage;
({ workflow: "x", cursor: page.next }) satisfies ListQuery;
