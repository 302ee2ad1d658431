/**
 * Messages to a run, pauses, and retries in place. None of them needs the code: without it, a worker goes on.
 * Proven in test/operate.test.ts.
 */

import { DurableError } from "@durable/core";
import type { SendStatus } from "@durable/core/types";
import { HttpError } from "@durable/http";
import { type Call, json } from "@durable/http/kit";
import { viewRun } from "@durable/core/inspect";
import type { Service } from "../options.ts";
import { assertCode, drive, driveWithCode, hasCode } from "./drive.ts";
import { readBody, reasonIn, said } from "./request.ts";

const ended: ReadonlySet<string> = new Set(["completed", "failed", "cancelled"]);

export async function pause({ app }: Service, { request, runId }: Call): Promise<Response> {
  const { status } = await app.get(runId).pause({ reason: await reasonIn(request) });
  if (ended.has(status)) throw new DurableError("conflict", `Run ${runId} had ended before: ${status}.`);
  return said("The run is paused.", runId);
}

export async function unpause(service: Service, { runId }: Call): Promise<Response> {
  await service.app.get(runId).unpause({ drive: await hasCode(service, runId) });
  return said("The run continues.", runId);
}

/** A failed run continues in place; any other run that has not ended is driven again, which needs the code. */
export async function retry(service: Service, { runId }: Call): Promise<Response> {
  const run = service.app.get(runId);
  const { status, workflow } = viewRun(await run.entries());
  if (status === "completed" || status === "cancelled")
    throw new DurableError("conflict", `Run ${runId} is ${status}. Fork it to run a part of it again.`);
  if (status !== "failed") {
    assertCode(service, workflow);
    return drive(service, runId, "The run is driven again.");
  }
  const isHere = service.code.has(workflow);
  const outcome = await run.retry({ drive: isHere });
  if (outcome.status === "failed") return said("The run failed again.", runId);
  return said(isHere ? "The run continues." : "The run continues when a worker takes it.", runId);
}

const sent: Readonly<Record<SendStatus, readonly [status: number, message: string]>> = {
  accepted: [200, "The message is recorded."],
  conflict: [409, "A message with this id and other content was recorded before."],
  invalid: [422, "The message does not fit its topic."],
  ended: [409, "The run has ended. The message was not recorded."],
};

export async function send(service: Service, { request, runId, params }: Call): Promise<Response> {
  const body = await readBody(request, ["payload"]);
  if (!("payload" in body)) throw new HttpError("invalid-body", `"payload" is missing.`);
  const { status, issues } = await service.app.send(runId, params["topic"] ?? "", body["payload"]);
  const [http, text] = sent[status];
  const message = issues === undefined ? text : `${text} ${issues}`;
  if (status === "accepted") return driveWithCode(service, runId, message);
  return http < 400 ? said(message, runId) : json(http, { error: { code: status, message } });
}
