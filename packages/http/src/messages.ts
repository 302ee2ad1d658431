/** Messages to a run, and what a run shows of itself. Proven in test/messages.test.ts. */

import type { SendStatus } from "@durable/core/types";
import { readJson } from "./body.ts";
import { HttpError, json } from "./errors.ts";
import type { Service } from "./options.ts";
import { membersOf, queryOf, textIn } from "./request-fields.ts";
import type { Call } from "./router.ts";
import { toJson } from "./to-json.ts";

const replies: Readonly<Record<SendStatus, readonly [http: number, text: string]>> = {
  accepted: [202, ""],
  conflict: [409, "A message with this id and other content was sent before."],
  invalid: [422, "The message does not fit its topic."],
  ended: [410, "The run has ended."],
};

export async function sendMessage(service: Service, { request, runId, params }: Call): Promise<Response> {
  const topic = params["topic"] as string;
  const members = membersOf(await readJson(request, service.limits), ["payload", "id"]);
  if (!("payload" in members))
    throw new HttpError("invalid-body", '"payload" is missing: it is the message.');
  const result = await service.app.send(runId, topic, members["payload"], { id: textIn(members, "id") });
  const { status, repeated, issues } = result;
  const [http, message] = replies[status];
  return json(http === 202 && repeated ? 200 : http, {
    status,
    repeated,
    ...(issues === undefined ? {} : { issues }),
    ...(message === "" ? {} : { error: { code: status, message } }),
  });
}

export async function readReport({ app }: Service, { url, runId }: Call): Promise<Response> {
  queryOf(url, []);
  const { status, report } = await app.get(runId).outcome();
  return json(200, { runId, status, report: toJson(report) });
}
