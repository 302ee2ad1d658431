/** A short name for a value's content. Equal values have equal ones, whatever the order of their fields. */

import { digest } from "../hash.ts";
import { decode } from "./decode.ts";
import { encodeSorted } from "./encode.ts";
import type { Json, Where } from "./tags.ts";

/**
 * A short hash of a value. Equal values have equal fingerprints, whatever the order of their fields. `where`
 * is used in error messages.
 */
export function fingerprint(value: unknown, where: Where = "value"): string {
  return digest(16, JSON.stringify(encodeSorted(value, where)));
}

/** Of a recorded value. It is read first, since references count objects in the order of their fields. */
export function fingerprintOf(json: Json, where: Where = "value"): string {
  return fingerprint(decode(json, where), where);
}
