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
const problem = object({ code: text, message: text, details: { type: "object" } }, ["details"]);

const suspendPoint = object(
  { key: text, name: text, note: any, schema: any, expiresAt: orNull(time), token: text },
  ["token"],
);

const outcome = {
  oneOf: [
    object({ runId, status: is("completed"), output: any }),
    object({ runId, status: is("failed"), error: problem }),
    object({ runId, status: is("blocked"), error: problem, since: time }),
    object({
      runId,
      status: is("suspended"),
      waiting: { type: "array", items: suspendPoint },
      wakeAt: orNull(time),
    }),
    object({
      runId,
      status: is("paused"),
      reason: orNull(text),
      since: time,
      waiting: { type: "array", items: suspendPoint },
    }),
    object({ runId, status: is("cancelled") }),
    object({ runId, status: is("running") }),
  ],
} as const;

/** `error` and `since` say why and since when a run is blocked. */
const runHead = object(
  {
    runId,
    workflow: text,
    status: { $ref: "#/components/schemas/RunStatus" },
    createdAt: time,
    updatedAt: time,
    wakeAt: orNull(time),
    steps: whole,
    label: orNull(text),
    parent: orNull(text),
    tags: { type: "object", additionalProperties: text },
    version: orNull(text),
    error: problem,
    since: time,
  },
  ["error", "since"],
);

const entry = {
  type: "object",
  properties: { kind: text, seq: whole, at: time, outside: { type: "boolean" } },
  required: ["kind", "seq", "at", "outside"],
} as const;

const resumed = object(
  {
    status: { type: "string", enum: ["accepted", "duplicate", "expired", "invalid", "unknown"] },
    runId,
    issues: text,
    error: problem,
  },
  ["runId", "issues", "error"],
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
    items: object({
      key: text,
      kind: { type: "string", enum: ["step", "stream", "child", "sleep", "suspend"] },
      what: { type: "string", enum: ["reused", "edited", "runs", "waits"] },
      next: { type: "boolean" },
      usage: usages,
    }),
  },
  saved: spend,
  atStake: spend,
  blocked: { oneOf: [problem, { type: "null" }] },
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
    created: { type: "boolean", description: "False when a run of this id existed" },
  }),
  RunPage: object({ runs: { type: "array", items: runHead }, next: orNull(text) }),
  Outcome: outcome,
  EntryPage: object({ entries: { type: "array", items: entry }, next: orNull(whole) }),
  ForkRequest: object(
    { from: keys, after: keys, edit: { type: "object" }, input: any, label: text, id: runId },
    ["from", "after", "edit", "input", "label", "id"],
  ),
  Plan: plan,
  Forked: object({ runId, status: is("running") }),
  CancelRequest: object({ reason: text }, ["reason"]),
  PauseRequest: object({ reason: text }, ["reason"]),
  RetryRequest: object({ deadline: { type: ["string", "number"], description: "A new deadline, from now" } }, [
    "deadline",
  ]),
  Paused: object({
    paused: { type: "array", items: object({ workflow: text, reason: orNull(text), since: time }) },
  }),
  ResumeRequest: object({ value: any, id: text }, ["id"]),
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
