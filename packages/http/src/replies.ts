/** Parts of responses that several routes share. Proven in test/runs.test.ts. */

import { json } from "./errors.ts";
import type { Service } from "./options.ts";
import type { Json } from "./to-json.ts";

/** A run is recorded and continues in the background. */
export function accepted(
  { basePath }: Service,
  body: { readonly runId: string; readonly status: string; readonly repeated?: boolean },
): Response {
  return json(202, body, { location: `${basePath}/runs/${body.runId}` });
}

/** Code and message, without details and cause. */
export function reasonOf({ code, message }: { readonly code: string; readonly message: string }): Json {
  return { code, message };
}

/** An object with this member, or without it when it has no value. */
export function only<K extends string, V>(name: K, value: V | undefined): { readonly [key in K]?: V } {
  return (value === undefined ? {} : { [name]: value }) as { readonly [key in K]?: V };
}
