/** What is kept of a provider's answer. */

import { plain } from "./plain.ts";
import type { ModelId } from "./call.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Names of headers that may hold what opens a door. */
const secretHeader =
  /cookie|authoriz|authentic|api-?key|secret|session|signature|(?:access|auth|csrf|id|refresh|security)-?token/i;

/** An answer without the request and the bodies: they repeat the prompt, or the answer itself. */
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

/** What the SDK would make up where the provider says nothing, and otherwise on every replay. */
export function responseDefaults(model: ModelId, idempotencyKey: string): Fields {
  return { id: `aitxt-${idempotencyKey.slice(0, 24)}`, timestamp: new Date(), modelId: model.modelId };
}
