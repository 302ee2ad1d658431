/**
 * Scans the bytes of a JSON text before `JSON.parse`: depth, members, values and strings are counted, so that
 * a deeply nested text, or one of very many values, never becomes a value. `JSON.parse` decides whether the text is valid. Proven in
 * test/body.test.ts.
 */

import { HttpError } from "./errors.ts";
import type { Limits } from "./limits.ts";

const [quote, backslash, colon, comma, space] = [0x22, 0x5c, 0x3a, 0x2c, 0x20];
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d];

export function scanJson(
  bytes: Uint8Array,
  limits: Pick<Limits, "depth" | "keys" | "nodes" | "stringBytes">,
): void {
  let depth = 0;
  let keys = 0;
  let nodes = 0;
  // The next byte that is not space begins a value, or the name of a member.
  let fresh = true;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] as number;
    if (byte <= space) continue;
    if (byte === comma) {
      fresh = true;
      continue;
    }
    if (fresh && byte !== closeBracket && byte !== closeBrace) {
      nodes += 1;
      if (nodes > limits.nodes) throw over("too-many-nodes", "has more than", limits.nodes, "values");
    }
    fresh = byte === openBracket || byte === openBrace || byte === colon;
    if (byte === quote) {
      i = endOfString(bytes, i, limits.stringBytes);
    } else if (byte === openBracket || byte === openBrace) {
      depth += 1;
      if (depth > limits.depth) throw over("body-too-deep", "is nested deeper than", limits.depth, "levels");
    } else if (byte === closeBracket || byte === closeBrace) {
      depth -= 1;
    } else if (byte === colon) {
      keys += 1;
      if (keys > limits.keys) throw over("too-many-keys", "has more than", limits.keys, "members");
    }
  }
}

/** The index of the closing quote, or of the end. */
function endOfString(bytes: Uint8Array, start: number, longest: number): number {
  let i = start + 1;
  while (i < bytes.length && bytes[i] !== quote) {
    i += bytes[i] === backslash ? 2 : 1;
    if (i - start - 1 > longest) throw over("string-too-long", "has a string of more than", longest, "bytes");
  }
  return i;
}

function over(
  code: "body-too-deep" | "too-many-keys" | "too-many-nodes" | "string-too-long",
  verb: string,
  limit: number,
  unit: string,
): HttpError {
  return new HttpError(code, `The body ${verb} ${limit} ${unit}.`, { details: { limit } });
}
