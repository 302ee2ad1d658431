/**
 * Messages to a run, pauses, scores, and retries in place. None of them needs the code: without it, a worker goes on.
 * Proven in test/operate.test.ts.
 */

import { DurableError } from "@durable/core";
import type { SendStatus } from "@durable/core/types";
import { HttpError } from "@durable/http";
import { type Call, json, membersOf, textIn } from "@durable/http/kit";
import { exampleNote, exampleScore, viewRun } from "@durable/core/inspect";
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
export async function retry(service: Service, { request, runId }: Call): Promise<Response> {
  // Of many runs that are retried at once, none is waited for.
  const { wait = true } = await readBody(request, ["wait"]);
  const run = service.app.get(runId);
  const { status, workflow } = viewRun(await run.entries());
  if (status === "completed" || status === "cancelled")
    throw new DurableError("conflict", `Run ${runId} is ${status}. Fork it to run a part of it again.`);
  if (status !== "failed") {
    assertCode(service, workflow);
    return drive(service, runId, "The run is driven again.");
  }
  const isHere = service.code.has(workflow);
  if (wait === false && isHere) {
    await run.retry({ drive: false });
    service.app.advance(runId).catch(service.onError);
    return said("The run continues.", runId);
  }
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

/** A score by its name; or, with `example`, a run that is kept as one, with a label and the expected answer. */
export async function score({ app }: Service, { request, runId }: Call): Promise<Response> {
  const body = await readBody(request, ["name", "value", "note", "example"]);
  const run = app.get(runId);
  if ("example" in body) {
    const { label, expected } = membersOf(body["example"], ["label", "expected"]);
    if (label !== null && typeof label !== "string")
      throw new HttpError("invalid-body", `"label" must be a string or null.`);
    await run.score(exampleScore, true, exampleNote({ label, ...(expected !== undefined && { expected }) }));
    return said("The run is kept as an example.", runId);
  }
  const name = textIn(body, "name") ?? "";
  await run.score(name, body["value"] as number, textIn(body, "note") || undefined);
  return said(body["value"] === null ? "The score is removed." : "The score is recorded.", runId);
}
