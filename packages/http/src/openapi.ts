/** The OpenAPI 3.1 description of the handler: its requests and responses. */

import { schemas } from "./openapi-schemas.ts";

type Part = Readonly<Record<string, unknown>>;

/** The OpenAPI 3.1 description of a handler that is mounted at `basePath`. */
export function openApi({ basePath = "" }: { readonly basePath?: string | undefined } = {}): Part {
  return {
    openapi: "3.1.0",
    info: {
      title: "Durable runs",
      version: "0.1.0",
      description:
        "Start, read, stream, fork, pause, retry, cancel and delete runs, and answer their suspend points. Everything except an answer by token needs permission, which the server defines. Values are JSON; values that JSON cannot express are converted to the nearest equivalent.",
    },
    servers: [{ url: basePath === "" ? "/" : basePath }],
    paths: {
      "/runs": { get: listRuns, post: startRun },
      "/runs/{runId}": { parameters: [runId], get: readRun, delete: deleteRun },
      "/runs/{runId}/entries": { parameters: [runId], get: readEntries },
      "/runs/{runId}/streams/{name}": {
        parameters: [runId, inPath("name", "The stream's key, or its name")],
        get: stream,
      },
      "/runs/{runId}/fork": { parameters: [runId], post: forkRun },
      "/runs/{runId}/plan": { parameters: [runId], post: planRun },
      "/runs/{runId}/cancel": { parameters: [runId], post: cancelRun },
      "/runs/{runId}/messages/{topic}": {
        parameters: [runId, inPath("topic", "The topic of the message")],
        post: sendMessage,
      },
      "/runs/{runId}/report": { parameters: [runId], get: readReport },
      "/runs/{runId}/score": { parameters: [runId], post: scoreRun },
      "/schedules": { get: listSchedules },
      "/schedules/{name}": { parameters: [scheduleName], get: readSchedule, delete: deleteSchedule },
      "/schedules/{name}/pause": { parameters: [scheduleName], post: pauseSchedule },
      "/schedules/{name}/unpause": { parameters: [scheduleName], post: unpauseSchedule },
      "/schedules/{name}/trigger": { parameters: [scheduleName], post: triggerSchedule },
      "/runs/{runId}/pause": { parameters: [runId], post: pauseRun },
      "/runs/{runId}/unpause": { parameters: [runId], post: unpauseRun },
      "/runs/{runId}/retry": { parameters: [runId], post: retryRun },
      "/workflows/{workflow}/pause": { parameters: [workflow], post: pauseWorkflow },
      "/workflows/{workflow}/unpause": { parameters: [workflow], post: unpauseWorkflow },
      "/paused": { get: listPaused },
      "/purge": { post: purgeRuns },
      "/resume/{token}": { parameters: [inPath("token", "The resume token")], get: confirm, post: resume },
      "/openapi.json": { get: describe },
    },
    components: { schemas, responses: { Error: errorAnswer } },
  };
}

const ref = (name: string): Part => ({ $ref: `#/components/schemas/${name}` });
const jsonOf = (name: string): Part => ({ content: { "application/json": { schema: ref(name) } } });
const answer = (description: string, name: string): Part => ({ description, ...jsonOf(name) });
const html = { "text/html": { schema: { type: "string" } } } as const;

const errorAnswer = answer("Refused or failed; `error.code` says why", "Error");
const errors = { default: { $ref: "#/components/responses/Error" } } as const;

function inPath(name: string, description: string): Part {
  return { name, in: "path", required: true, description, schema: { type: "string" } };
}

function inQuery(name: string, description: string, schema: Part): Part {
  return { name, in: "query", description, schema };
}

const runId = inPath("runId", "The run's id");
const workflow = inPath("workflow", "The name of the workflow");
const whole = (minimum: number, maximum?: number): Part => ({
  type: "integer",
  minimum,
  ...(maximum === undefined ? {} : { maximum }),
});

const startRun = {
  operationId: "startRun",
  summary: "Record a run and drive it in the background. With an existing id, that run continues",
  requestBody: { required: true, ...jsonOf("StartRequest") },
  responses: { 202: answer("The run is recorded", "Started"), ...errors },
};

const listRuns = {
  operationId: "listRuns",
  summary: "Runs, newest first",
  parameters: [
    inQuery("workflow", "Only runs of this workflow", { type: "string" }),
    inQuery("status", "Only runs with this status", ref("RunStatus")),
    inQuery("parent", "Only forks and children of this run, and runs that it has spawned", {
      type: "string",
    }),
    inQuery("tag", "Only runs with this tag: name, `=`, value. May be given again for another tag", {
      type: "array",
      items: { type: "string" },
    }),
    inQuery("version", "Only runs of this version of the code", { type: "string" }),
    inQuery("createdAfter", "Only runs created at this time or later, in milliseconds", whole(0)),
    inQuery("createdBefore", "Only runs created before this time, in milliseconds", whole(0)),
    inQuery("q", "Only runs whose id, label or value of a tag begins with this text", { type: "string" }),
    inQuery("waiting", "Only runs with open waits; those that expire first come first", {
      type: "string",
      enum: ["true"],
    }),
    inQuery("limit", "Runs on a page; 50 by default", whole(1, 1_000)),
    inQuery("cursor", "`next` of the previous page", { type: "string" }),
  ],
  responses: { 200: answer("A page", "RunPage"), ...errors },
};

const readRun = {
  operationId: "readRun",
  summary: "The outcome of a run. Tokens of open waits are included for clients that may see them",
  responses: { 200: answer("Its outcome", "Outcome"), ...errors },
};

const readEntries = {
  operationId: "readEntries",
  summary: "The facts of a run's journal, oldest first",
  parameters: [
    inQuery("after", "Only entries with a higher seq", whole(0)),
    inQuery("limit", "Entries on a page; 100 by default", whole(1, 1_000)),
    inQuery("struck", "Also entries that a retry has struck; `struck` is the seq of that retry", {
      type: "boolean",
      enum: [true],
    }),
  ],
  responses: { 200: answer("A page", "EntryPage"), ...errors },
};

const stream = {
  operationId: "streamRun",
  summary: "A stream of the run as server-sent events: recorded chunks first, then new ones until its end",
  parameters: [
    inQuery("from", "The index to begin at; 0 by default", whole(0)),
    inQuery("attempt", "The attempt that index belongs to; 1 by default", whole(1)),
    inQuery("chapter", "The chapter of the run; the current one by default", whole(1)),
    {
      name: "Last-Event-ID",
      in: "header",
      description: "The last id received, `<attempt>:<index>`: continues right after it",
      schema: { type: "string" },
    },
  ],
  responses: {
    200: {
      description:
        "Events `chunk` (data is the value), `reset` (discard the chunks so far), `end` and `error`",
      content: { "text/event-stream": { schema: { type: "string" } } },
    },
    204: { description: "Nothing follows that id: do not connect again" },
    ...errors,
  },
};

const forkRun = {
  operationId: "forkRun",
  summary: "A new run that begins with recorded work of this one",
  requestBody: { required: true, ...jsonOf("ForkRequest") },
  responses: { 202: answer("The fork is recorded", "Forked"), ...errors },
};

const planRun = {
  operationId: "planRun",
  summary: "What a fork would reuse, run and wait for. Creates nothing",
  requestBody: { required: true, ...jsonOf("ForkRequest") },
  responses: { 200: answer("The plan", "Plan"), ...errors },
};

const cancelRun = {
  operationId: "cancelRun",
  summary: "End a run, and every run below it",
  requestBody: { required: false, ...jsonOf("CancelRequest") },
  responses: { 200: answer("Its outcome now", "Outcome"), ...errors },
};

const sendMessage = {
  operationId: "sendMessage",
  summary: "Send a message to a run",
  requestBody: { required: true, ...jsonOf("SendRequest") },
  responses: {
    200: answer("Sent before, with the same id and content", "Sent"),
    202: answer("Recorded", "Sent"),
    409: answer("A message with this id and other content was sent before", "Sent"),
    410: answer("The run has ended", "Sent"),
    422: answer("The message does not fit its topic: `issues` says why", "Sent"),
    ...errors,
  },
};

const readReport = {
  operationId: "readReport",
  summary: "What a run shows of itself; null when it shows nothing",
  responses: { 200: answer("The report", "Report"), ...errors },
};

const deleteRun = {
  operationId: "deleteRun",
  summary: "Remove a run and its children. What forks read is kept until the last of them is gone",
  responses: { 200: answer("It is removed", "Deleted"), ...errors },
};

const purgeRuns = {
  operationId: "purgeRuns",
  summary: "Remove runs that have ended, by age or number: at most 1,000 in one request",
  requestBody: { required: true, ...jsonOf("PurgeRequest") },
  responses: { 200: answer("What was removed; with `dryRun`, what would be", "Purged"), ...errors },
};

const scheduleName = inPath("name", "The schedule's name");

const listSchedules = {
  operationId: "listSchedules",
  summary: "Schedules, sorted by name",
  parameters: [
    inQuery("workflow", "Only schedules of this workflow", { type: "string" }),
    inQuery("limit", "Schedules on a page; 50 by default", whole(1, 1_000)),
    inQuery("cursor", "`next` of the previous page", { type: "string" }),
  ],
  responses: { 200: answer("A page", "SchedulePage"), ...errors },
};

const readSchedule = {
  operationId: "readSchedule",
  summary: "A schedule, with the times of its next ticks",
  responses: { 200: answer("The schedule", "ScheduleWithTicks"), ...errors },
};

const pauseSchedule = {
  operationId: "pauseSchedule",
  summary: "No further tick starts a run",
  responses: { 200: answer("The schedule now", "Schedule"), ...errors },
};

const unpauseSchedule = {
  operationId: "unpauseSchedule",
  summary: "End a pause. Ticks that passed during the pause do not start",
  responses: { 200: answer("The schedule now", "Schedule"), ...errors },
};

const triggerSchedule = {
  operationId: "triggerSchedule",
  summary: "Record one more run with the input of the schedule, now",
  responses: { 202: answer("The run is recorded", "Started"), ...errors },
};

const deleteSchedule = {
  operationId: "deleteSchedule",
  summary: "Remove a schedule. Its runs stay",
  responses: { 200: answer("It is removed", "DeletedSchedule"), ...errors },
};

const pauseRun = {
  operationId: "pauseRun",
  summary: "Stop a run until it is unpaused. Answers are still recorded",
  requestBody: { required: false, ...jsonOf("PauseRequest") },
  responses: { 200: answer("Its outcome now", "Outcome"), ...errors },
};

const scoreRun = {
  operationId: "scoreRun",
  summary: "Record what a person or a check thinks of a run, also after its end; null removes the score",
  requestBody: { required: true, ...jsonOf("ScoreRequest") },
  responses: { 200: answer("All scores of the run", "Scored"), ...errors },
};

const unpauseRun = {
  operationId: "unpauseRun",
  summary: "Let a paused run continue, in the background",
  responses: { 200: answer("Its outcome now", "Outcome"), ...errors },
};

const retryRun = {
  operationId: "retryRun",
  summary: "Continue a failed run in place, in the background. The failed calls get new attempts",
  requestBody: { required: false, ...jsonOf("RetryRequest") },
  responses: { 200: answer("Its outcome now", "Outcome"), ...errors },
};

const pauseWorkflow = {
  operationId: "pauseWorkflow",
  summary: "Stop all runs of a workflow, and those that are started later",
  requestBody: { required: false, ...jsonOf("PauseRequest") },
  responses: { 200: answer("The workflows that are paused", "Paused"), ...errors },
};

const unpauseWorkflow = {
  operationId: "unpauseWorkflow",
  summary: "Let the runs of a workflow continue",
  responses: { 200: answer("The workflows that are paused", "Paused"), ...errors },
};

const listPaused = {
  operationId: "listPaused",
  summary: "The workflows that are paused",
  responses: { 200: answer("The workflows that are paused", "Paused"), ...errors },
};

const confirm = {
  operationId: "confirmAnswer",
  summary: "A page that asks for the answer. It reads and changes nothing",
  parameters: [inQuery("value", "The answer to confirm", { type: "string", maxLength: 4_096 })],
  responses: { 200: { description: "The page, the same for every token", content: html }, ...errors },
};

/** JSON, or a page for a browser that sent a form. */
const resumed = (description: string): Part => ({
  description,
  content: { "application/json": { schema: ref("Resumed") }, ...html },
});

const resume = {
  operationId: "answer",
  summary: "Answer the suspend point of the token",
  requestBody: {
    required: true,
    content: {
      "application/json": { schema: ref("ResumeRequest") },
      "application/x-www-form-urlencoded": { schema: ref("ResumeForm") },
    },
  },
  responses: {
    200: resumed("Accepted. The same `id` is accepted again, and counts once"),
    404: resumed("No suspend point has this token"),
    409: resumed("Answered before"),
    410: resumed("Too late"),
    422: resumed("The answer does not fit: `issues` says why, and the wait stays open"),
    ...errors,
  },
};

const describe = {
  operationId: "describe",
  summary: "This description",
  responses: {
    200: { description: "OpenAPI 3.1", content: { "application/json": { schema: { type: "object" } } } },
    ...errors,
  },
};
