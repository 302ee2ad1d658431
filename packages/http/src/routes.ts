/** The routes of the handler, and which permission each needs. Proven in test/runs.test.ts. */

import type { Action } from "@durable/core";
import { json } from "./errors.ts";
import { forkRun, planRun } from "./forks.ts";
import { readReport, sendMessage } from "./messages.ts";
import { openApi } from "./openapi.ts";
import type { Service } from "./options.ts";
import { answer, confirm } from "./resume.ts";
import { deleteRun, purgeRuns } from "./retention.ts";
import type { Call, Routes } from "./router.ts";
import { cancelRun, listRuns, readEntries, readRun, startRun } from "./runs.ts";
import * as schedules from "./schedules.ts";
import {
  listPaused,
  pauseRun,
  pauseWorkflow,
  retryRun,
  scoreRun,
  unpauseRun,
  unpauseWorkflow,
} from "./steer.ts";
import { streamRun } from "./stream.ts";

type Act = (service: Service, call: Call) => Promise<Response>;

/** One method of a path: the permission that it needs, and what it does. */
export interface Route {
  /** The permission, to which the names in the path are added; `null` for the holder of a token. */
  readonly asks: Pick<Action, "type" | "change"> | null;
  /** Set where `act` asks, once it has read from the request what else the action names. */
  readonly late?: readonly (keyof Action)[];
  /** What `act` asks besides, for some requests or for each row. */
  readonly also?: readonly Action["type"][];
  readonly act: Act;
}

const asks = (type: Action["type"], act: Act): Route => ({ asks: { type }, act });
const late = (
  type: Action["type"],
  act: Act,
  names: readonly (keyof Action)[],
  also: readonly Action["type"][] = [],
): Route => ({ asks: { type }, late: names, also, act });
const byHolder = (act: Act): Route => ({ asks: null, act });
const changes = (change: NonNullable<Action["change"]>, act: Act): Route => ({
  asks: { type: "schedule", change },
  act,
});

const started = ["workflow", "runId", "singleton", "debounce", "priority", "tags"] as const;
const forked = ["forkId", "edits", "waits", "topic"] as const;

/** The one route without `authorize`: the token is the permission. */
export const byToken = "resume/{token}";

/** All routes of the handler. */
export const routes: Routes<Route> = [
  [
    "runs",
    {
      GET: late("list", listRuns, ["workflow", "runId", "tags"], ["read"]),
      POST: late("start", startRun, started),
    },
  ],
  [
    "runs/{runId}",
    { GET: { ...asks("read", readRun), also: ["tokens"] }, DELETE: asks("delete", deleteRun) },
  ],
  ["runs/{runId}/entries", { GET: asks("read", readEntries) }],
  ["runs/{runId}/streams/{name}", { GET: asks("stream", streamRun) }],
  ["runs/{runId}/fork", { POST: late("fork", forkRun, forked, ["resume", "send"]) }],
  ["runs/{runId}/plan", { POST: late("fork", planRun, forked, ["resume", "send"]) }],
  ["runs/{runId}/cancel", { POST: asks("cancel", cancelRun) }],
  ["runs/{runId}/messages/{topic}", { POST: asks("send", sendMessage) }],
  ["runs/{runId}/report", { GET: asks("report", readReport) }],
  ["runs/{runId}/score", { POST: asks("score", scoreRun) }],
  ["purge", { POST: late("purge", purgeRuns, ["workflow", "tags"]) }],
  ["schedules", { GET: late("schedules", schedules.listSchedules, ["workflow", "schedule"]) }],
  [
    "schedules/{schedule}",
    { GET: asks("schedules", schedules.readSchedule), DELETE: changes("delete", schedules.deleteSchedule) },
  ],
  ["schedules/{schedule}/pause", { POST: changes("pause", schedules.pauseSchedule) }],
  ["schedules/{schedule}/unpause", { POST: changes("unpause", schedules.unpauseSchedule) }],
  ["schedules/{schedule}/trigger", { POST: changes("trigger", schedules.triggerSchedule) }],
  ["runs/{runId}/pause", { POST: asks("pause", pauseRun) }],
  ["runs/{runId}/unpause", { POST: asks("unpause", unpauseRun) }],
  ["runs/{runId}/retry", { POST: asks("retry", retryRun) }],
  ["workflows/{workflow}/pause", { POST: asks("pause", pauseWorkflow) }],
  ["workflows/{workflow}/unpause", { POST: asks("unpause", unpauseWorkflow) }],
  ["paused", { GET: asks("overview", listPaused) }],
  [byToken, { GET: byHolder(confirm), POST: byHolder(answer) }],
  ["openapi.json", { GET: asks("describe", async (service) => json(200, openApi(service))) }],
];
