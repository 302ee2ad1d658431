/** Requests and responses as JSON Schema. Proven in test/openapi.test.ts. */

type Part = Readonly<Record<string, unknown>>;

const text = { type: "string" } as const;
const whole = { type: "integer" } as const;
const time = { type: "integer", description: "Milliseconds since 1970" } as const;
const orNull = (schema: Part & { readonly type: string }): Part => ({
  ...schema,
  type: [schema.type, "null"],
});
const is = (value: string): Part => ({ type: "string", const: value });
const any = {} as const;
const spanOfTime = { oneOf: [{ type: "number" }, text] } as const;
const keys = { oneOf: [text, { type: "array", items: text }] } as const;

/** An object with exactly these members; all are required except the optional ones. */
function object(properties: Readonly<Record<string, Part>>, optional: readonly string[] = []): Part {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: "object", properties, required, additionalProperties: false };
}

const runId = { type: "string", pattern: "^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$" } as const;
const runStatus = ["running", "suspended", "paused", "blocked", "completed", "failed", "cancelled"];
/** What a run does, in one word. */
const runState =
  "completed failed cancelled blocked paused cancelling failing open running queued waiting sleeping".split(
    " ",
  );
const problem = object({ code: text, message: text, details: { type: "object" } }, ["details"]);

const suspendPoint = object(
  { key: text, name: text, note: any, schema: any, expiresAt: orNull(time), topic: text, token: text },
  ["topic", "token"],
);

const waiting = { type: "array", items: suspendPoint } as const;

/** Steps whose compensation failed. */
const uncompensated = { type: "array", items: text } as const;
/** Present while a run undoes what it did: it was cancelled, or it has failed. */
const undone = { cancelling: object({ reason: text }, ["reason"]), failing: problem } as const;
const whileUndone = Object.keys(undone);

/** One form of an outcome; what is named in `optional` may be missing. */
const ends = (
  status: string,
  properties: Readonly<Record<string, Part>> = {},
  optional: readonly string[] = [],
): Part =>
  object(
    {
      runId,
      status: is(status),
      state: { $ref: "#/components/schemas/RunState" },
      report: any,
      ...properties,
    },
    ["report", ...optional],
  );

const outcome = {
  oneOf: [
    ends("completed", { output: any }),
    ends("failed", { error: problem, uncompensated }, ["uncompensated"]),
    ends("blocked", { error: problem, since: time, waiting, ...undone }, whileUndone),
    ends("suspended", { waiting, wakeAt: orNull(time), ...undone }, whileUndone),
    ends("paused", {
      reason: orNull(text),
      since: time,
      waiting,
    }),
    ends("cancelled", { reason: text, error: problem, uncompensated }, ["reason", "error", "uncompensated"]),
    ends("running", { waiting, ...undone }, whileUndone),
  ],
} as const;

const headError = object({ code: text, message: text, key: text, group: text, details: { type: "object" } }, [
  "message",
  "key",
  "group",
  "details",
]);

const usageRow = object(
  {
    day: text,
    label: text,
    model: text,
    provider: text,
    inputTokens: whole,
    outputTokens: whole,
    cachedInputTokens: whole,
    cacheWriteTokens: whole,
    reasoningTokens: whole,
    cost: { type: "number" },
  },
  ["provider", "cachedInputTokens", "cacheWriteTokens", "reasoningTokens", "cost"],
);

const scores = { type: "object", additionalProperties: { type: "number" } } as const;

/** `error` says why a run is blocked, fails or has failed. */
const runHead = object(
  {
    runId,
    workflow: text,
    status: { $ref: "#/components/schemas/RunStatus" },
    state: { $ref: "#/components/schemas/RunState" },
    createdAt: time,
    updatedAt: time,
    wakeAt: orNull(time),
    dueSince: orNull(time),
    steps: whole,
    label: orNull(text),
    parent: orNull(text),
    tags: { type: "object", additionalProperties: text },
    version: orNull(text),
    waits: object({ count: whole, expiresAt: orNull(time), question: text }, ["question"]),
    usage: { type: "array", items: usageRow },
    inherited: { type: "array", items: usageRow },
    error: headError,
    scope: text,
    scores,
    report: any,
    since: time,
  },
  ["waits", "usage", "inherited", "error", "scope", "scores", "report", "since"],
);

const entry = {
  type: "object",
  properties: { kind: text, seq: whole, at: time, outside: { type: "boolean" } },
  required: ["kind", "seq", "at", "outside"],
} as const;

const repeated = { type: "boolean", description: "This id was used before" } as const;

const resumed = object(
  {
    status: { type: "string", enum: ["accepted", "duplicate", "expired", "invalid", "unknown"] },
    repeated,
    runId,
    issues: text,
    error: problem,
  },
  ["runId", "issues", "error"],
);

const sent = object(
  {
    status: { type: "string", enum: ["accepted", "conflict", "invalid", "ended"] },
    repeated,
    issues: text,
    error: problem,
  },
  ["issues", "error"],
);

const usage = object(
  {
    model: text,
    provider: text,
    inputTokens: whole,
    outputTokens: whole,
    cachedInputTokens: whole,
    cacheWriteTokens: whole,
    reasoningTokens: whole,
  },
  ["provider", "cachedInputTokens", "cacheWriteTokens", "reasoningTokens"],
);
const usages = { type: "array", items: usage } as const;
const spend = object({
  usage: usages,
  inputTokens: whole,
  outputTokens: whole,
  cost: { type: "null", description: "Always null: the server knows no prices" },
});

const plan = object({
  parent: runId,
  calls: {
    type: "array",
    items: object(
      {
        key: text,
        was: text,
        kind: { type: "string", enum: ["step", "stream", "child", "spawn", "sleep", "suspend"] },
        what: { type: "string", enum: ["reused", "edited", "runs", "waits"] },
        next: { type: "boolean" },
        usage: usages,
      },
      ["was"],
    ),
  },
  saved: spend,
  atStake: spend,
  blocked: { oneOf: [problem, { type: "null" }] },
});

/** A call by its key or name, or a turn of an agent by its number. */
const place = { oneOf: [text, object({ turn: { type: "integer" } })] } as const;
const places = { oneOf: [...place.oneOf, { type: "array", items: place }] } as const;

const endStatus = { type: "string", enum: ["completed", "failed", "cancelled"] } as const;
const counted = { type: "integer", minimum: 0 } as const;
const purgeRequest = object(
  {
    status: { oneOf: [endStatus, { type: "array", items: endStatus }] },
    olderThan: { oneOf: [text, { type: "number", minimum: 0 }] },
    keep: counted,
    workflow: keys,
    tags: { type: "object", additionalProperties: text },
    limit: counted,
    dryRun: { type: "boolean" },
  },
  ["status", "olderThan", "keep", "workflow", "tags", "limit", "dryRun"],
);

const purged = object({
  runs: counted,
  children: counted,
  left: counted,
  byWorkflow: { type: "object", additionalProperties: counted },
  more: { type: "boolean", description: "True when more runs may be left: ask again" },
});

const scheduleMembers = {
  name: text,
  workflow: text,
  cron: orNull(text),
  timezone: orNull(text),
  every: orNull({ type: "integer", description: "The period in milliseconds" }),
  overlap: { type: "string", enum: ["skip", "allow", "queue", "cancel"] },
  missed: { type: "string", enum: ["latest", "skip", "all"] },
  paused: { type: "boolean" },
  nextAt: orNull(time),
  queuedAt: orNull(time),
  lastAt: orNull(time),
  lastRunId: orNull(text),
  createdAt: time,
  updatedAt: time,
} as const;

export const schemas: Part = {
  RunStatus: { type: "string", enum: runStatus },
  RunState: { type: "string", enum: runState },
  Error: object({ error: problem }),
  StartRequest: object(
    {
      workflow: text,
      input: any,
      id: runId,
      tags: { type: "object", additionalProperties: text },
      priority: whole,
      delay: spanOfTime,
      at: { oneOf: [time, { type: "string", format: "date-time" }] },
      debounce: object({ key: text, wait: spanOfTime }),
      singleton: text,
    },
    ["input", "id", "tags", "priority", "delay", "at", "debounce", "singleton"],
  ),
  Started: object({
    runId,
    status: { $ref: "#/components/schemas/RunStatus" },
    repeated: { type: "boolean", description: "True when a run of this id existed" },
  }),
  RunPage: object({ runs: { type: "array", items: runHead }, next: orNull(text), partial: { const: true } }, [
    "partial",
  ]),
  Outcome: outcome,
  EntryPage: object({ entries: { type: "array", items: entry }, next: orNull(whole) }),
  ForkRequest: object(
    {
      from: places,
      after: places,
      edit: { type: "object" },
      input: any,
      prompts: { type: "object", additionalProperties: text },
      label: text,
      id: runId,
    },
    ["from", "after", "edit", "input", "prompts", "label", "id"],
  ),
  Plan: plan,
  Forked: object({ runId, status: is("running") }),
  Deleted: object({ runId, deleted: { type: "boolean" } }),
  PurgeRequest: purgeRequest,
  Purged: purged,
  CancelRequest: object({ reason: text, force: { type: "boolean" } }, ["reason", "force"]),
  PauseRequest: object({ reason: text }, ["reason"]),
  ScoreRequest: object({ name: text, value: { type: ["number", "boolean", "null"] }, note: text }, ["note"]),
  Scored: object({ runId, scores }),
  RetryRequest: object(
    {
      deadline: { type: ["string", "number"], description: "A new deadline, from now" },
      steps: {
        type: "array",
        items: text,
        description: "The failed steps that begin anew; those that the error names by default",
      },
    },
    ["deadline", "steps"],
  ),
  Paused: object({
    paused: { type: "array", items: object({ workflow: text, reason: orNull(text), since: time }) },
  }),
  SendRequest: object({ payload: any, id: text }, ["id"]),
  Sent: sent,
  Report: object({ runId, status: { $ref: "#/components/schemas/RunStatus" }, report: any }),
  ResumeRequest: {
    oneOf: [
      object({ value: any, id: text }, ["id"]),
      object({ error: object({ message: text, name: text, code: text }, ["name", "code"]), id: text }, [
        "id",
      ]),
    ],
  },
  ResumeForm: object({ value: text, id: text }, ["id"]),
  Resumed: resumed,
  Schedule: object(scheduleMembers),
  ScheduleWithTicks: object({ ...scheduleMembers, next: { type: "array", items: time } }),
  SchedulePage: object({
    schedules: { type: "array", items: { $ref: "#/components/schemas/Schedule" } },
    next: orNull(text),
  }),
  DeletedSchedule: object({ name: text, deleted: { type: "boolean" } }),
};
