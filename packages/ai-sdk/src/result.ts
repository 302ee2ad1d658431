/** The recorded part of a provider's result. Proven in test/troubles.test.ts. */

import { plain } from "@durable/core/clients";
import type { ModelId } from "./call.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Names of headers that may contain credentials. */
const secretHeader =
  /cookie|authoriz|authentic|api-?key|secret|session|signature|(?:access|auth|csrf|id|refresh|security)-?token/i;

/** A result without the request and the bodies, which repeat the prompt or the result. */
export function keptResult(result: object): Fields {
  const { request: _, response, ...rest } = plain(result) as Fields;
  return response === undefined ? rest : { ...rest, response: keptResponse(response as Fields) };
}

function keptResponse(response: Fields): Fields {
  const { headers, body: _, ...rest } = response;
  if (headers === undefined) return rest;
  const kept = Object.entries(headers as object).filter(([name]) => !secretHeader.test(name));
  return { ...rest, headers: Object.fromEntries(kept) };
}

/** The recorded result of a call that was made just now, with the request and the body of the response. */
export function withBodies(kept: object, result: object): Fields {
  const { request, response } = result as Fields;
  const { body } = (response ?? {}) as Fields;
  return {
    ...kept,
    ...(request === undefined ? {} : { request }),
    ...(body === undefined ? {} : { response: { ...((kept as Fields)["response"] as object), body } }),
  };
}

/** Fields that the SDK would otherwise generate anew on every replay. */
export function responseDefaults(model: ModelId, idempotencyKey: string): Fields {
  return { id: `aitxt-${idempotencyKey.slice(0, 24)}`, timestamp: new Date(), modelId: model.modelId };
}
