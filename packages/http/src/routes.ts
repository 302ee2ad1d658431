/** The routes of the handler, and which permission each needs. Proven in test/runs.test.ts. */

import { json } from "./errors.ts";
import { forkRun, planRun } from "./forks.ts";
import { readReport, sendMessage } from "./messages.ts";
import { openApi } from "./openapi.ts";
import type { Action, Service } from "./options.ts";
import { answer, confirm } from "./resume.ts";
import { deleteRun, purgeRuns } from "./retention.ts";
import type { Call, Routes } from "./router.ts";
import { cancelRun, listRuns, readEntries, readRun, startRun } from "./runs.ts";
import * as schedules from "./schedules.ts";
import { listPaused, pauseRun, pauseWorkflow, retryRun, unpauseRun, unpauseWorkflow } from "./steer.ts";
import { streamRun } from "./stream.ts";

type Act = (service: Service, call: Call) => Promise<Response>;

export interface Route {
  /** The permission, to which the names in the path are added. `null`: `act` asks, once it knows what for. */
  readonly asks: Pick<Action, "type" | "change"> | null;
  readonly act: Act;
}

const asks = (type: Action["type"], act: Act): Route => ({ asks: { type }, act });
const itself = (act: Act): Route => ({ asks: null, act });
const changes = (change: NonNullable<Action["change"]>, act: Act): Route => ({
  asks: { type: "schedule", change },
  act,
});

/** The one route without `authorize`: the token is the permission. */
export const byToken = "resume/{token}";

export const routes: Routes<Route> = [
  ["runs", { GET: itself(listRuns), POST: itself(startRun) }],
  ["runs/{runId}", { GET: asks("read", readRun), DELETE: asks("delete", deleteRun) }],
  ["runs/{runId}/entries", { GET: asks("read", readEntries) }],
  ["runs/{runId}/streams/{name}", { GET: asks("stream", streamRun) }],
  ["runs/{runId}/fork", { POST: itself(forkRun) }],
  ["runs/{runId}/plan", { POST: itself(planRun) }],
  ["runs/{runId}/cancel", { POST: asks("cancel", cancelRun) }],
  ["runs/{runId}/messages/{topic}", { POST: asks("send", sendMessage) }],
  ["runs/{runId}/report", { GET: asks("report", readReport) }],
  ["purge", { POST: itself(purgeRuns) }],
  ["schedules", { GET: itself(schedules.listSchedules) }],
  [
    "schedules/{schedule}",
    { GET: asks("schedules", schedules.readSchedule), DELETE: changes("delete", schedules.deleteSchedule) },
  ],
  ["schedules/{schedule}/pause", { POST: changes("pause", schedules.pauseSchedule) }],
  ["schedules/{schedule}/resume", { POST: changes("resume", schedules.resumeSchedule) }],
  ["schedules/{schedule}/trigger", { POST: changes("trigger", schedules.triggerSchedule) }],
  ["runs/{runId}/pause", { POST: asks("pause", pauseRun) }],
  ["runs/{runId}/unpause", { POST: asks("unpause", unpauseRun) }],
  ["runs/{runId}/retry", { POST: asks("retry", retryRun) }],
  ["workflows/{workflow}/pause", { POST: asks("pause", pauseWorkflow) }],
  ["workflows/{workflow}/unpause", { POST: asks("unpause", unpauseWorkflow) }],
  ["paused", { GET: asks("list", listPaused) }],
  [byToken, { GET: itself(confirm), POST: itself(answer) }],
  ["openapi.json", { GET: asks("describe", async (service) => json(200, openApi(service))) }],
];
