/**
 * Messages to a run, pauses, and retries in place. None of them needs the code: without it, a worker goes on.
 * Proven in test/operate.test.ts.
 */

import { DurableError, type Outcome, type SendStatus } from "@durable/core";
import { viewRun } from "@durable/core/view";
import type { ActionReply } from "../api.ts";
import { json, Refusal } from "../errors.ts";
import type { Call, Service } from "../options.ts";
import { drive } from "./actions.ts";
import { readBody, textIn } from "./request.ts";

const ended: ReadonlySet<string> = new Set(["completed", "failed", "cancelled"]);

export async function pause({ app }: Service, { request, runId }: Call): Promise<Response> {
  const reason = textIn(await readBody(request), "reason");
  const { status } = await app.get(runId).pause(reason === "" ? undefined : reason);
  if (ended.has(status)) throw new DurableError("conflict", `Run ${runId} had ended before: ${status}.`);
  return said({ message: "The run is paused.", runId });
}

export async function unpause(service: Service, { runId }: Call): Promise<Response> {
  await service.app.get(runId).unpause({ drive: await hasCode(service, runId) });
  return said({ message: "The run continues.", runId });
}

/** A failed run continues in place; any other run that has not ended is driven again, which needs the code. */
export async function retry(service: Service, { runId }: Call): Promise<Response> {
  const { app } = service;
  const { status, workflow } = viewRun(await app.get(runId).entries());
  if (status === "completed" || status === "cancelled")
    throw new DurableError("conflict", `Run ${runId} is ${status}. Fork it to run a part of it again.`);
  const isHere = service.code.has(workflow);
  if (status === "failed") {
    const outcome: Outcome<unknown> = await app.get(runId).retry({ drive: isHere });
    const message = isHere ? "The run continues." : "The run continues when a worker takes it.";
    return said({ message: outcome.status === "failed" ? "The run failed again." : message, runId });
  }
  if (isHere) return drive(service, runId, "The run is driven again.");
  throw new Refusal(
    "no-code",
    `The code of workflow "${workflow}" is not loaded here. Start the dashboard with the app that has it.`,
  );
}

async function hasCode({ app, code }: Service, runId: string): Promise<boolean> {
  return code.has(viewRun(await app.get(runId).entries()).workflow);
}

const sent: Readonly<Record<SendStatus, readonly [status: number, message: string]>> = {
  accepted: [200, "The message is recorded."],
  duplicate: [200, "The message was recorded before."],
  conflict: [409, "A message with this id and other content was recorded before."],
  invalid: [422, "The message does not fit its topic."],
  ended: [409, "The run has ended. The message was not recorded."],
  unknown: [404, "There is no such run."],
};

/** Where the code is, the run is driven at once. */
export async function send(
  service: Service,
  { request, runId, params: { topic = "" } }: Call,
): Promise<Response> {
  const body = await readBody(request);
  if (!("payload" in body)) throw new Refusal("invalid-body", `"payload" is missing.`);
  const { status, issues } = await service.app.send(runId, topic, body["payload"]);
  const [http, text] = sent[status];
  const message = issues === undefined ? text : `${text} ${issues}`;
  if (status === "accepted" && (await hasCode(service, runId))) return drive(service, runId, message);
  return http < 400 ? said({ message, runId }) : json(http, { error: { code: status, message } });
}

function said(body: ActionReply): Response {
  return json(200, body);
}
