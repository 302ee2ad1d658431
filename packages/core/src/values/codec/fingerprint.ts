/** A short hash of a value. Equal values have equal hashes, whatever the order of their fields. */

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

/** The fingerprint of a recorded value. It is decoded first, because references depend on the order of fields. */
export function fingerprintOf(json: Json, where: Where = "value"): string {
  return fingerprint(decode(json, where), where);
}
