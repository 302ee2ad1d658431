/** What the head of a run says about its failure: the error that came first, in short. */

import { decode } from "../values/codec/decode.ts";
import type { Json } from "../values/codec/tags.ts";
import { DurableError, describeError } from "../values/errors.ts";
import { shortText } from "../values/scrub.ts";
import { nameOf } from "./keys.ts";
import type { RootError } from "../ports/storage.ts";

/** Numbers and ids, in which failures of the same kind differ. */
const varying = /\b[0-9a-f]{8,}(?:-[0-9a-f]+)*\b|\d+/gi;

/** Of a failed call, what it failed with; of several, the first. `group` is the text that failures of the same kind share. */
export function rootErrorOf(error: Json): Required<Omit<RootError, "key">> & Pick<RootError, "key"> {
  let root = decode(error, "error of a run");
  const code = DurableError.is(root) ? root.code : "thrown";
  let key: string | undefined;
  for (let next = causeIn(root); next !== undefined; next = causeIn(root)) {
    if (DurableError.is(root) && typeof root.details["key"] === "string") key = root.details["key"];
    root = next;
  }
  const message = shortText(describeError(root));
  const group = [code, nameOf(key ?? ""), message.replace(varying, "#")].join("\n");
  return { code, ...(key === undefined ? {} : { key }), message, group };
}

function causeIn(error: unknown): unknown {
  if (DurableError.is(error)) return error.cause;
  return error instanceof AggregateError ? (error.errors as unknown[])[0] : undefined;
}
