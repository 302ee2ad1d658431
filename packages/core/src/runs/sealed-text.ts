/** Texts of `storage.limits` that are more than counts: with a cipher they are sealed, each under its name. */

import type { Cipher, Place } from "../ports/cipher.ts";
import { DurableError, show } from "../values/errors.ts";

const mark = "sealed ";

export async function sealText(cipher: Cipher | null, name: string, text: string): Promise<string> {
  return cipher === null ? text : mark + (await cipher.seal(text, placeOf(name)));
}

/** Rejects with `tampered` or `no-key` for a text that an owner of the key did not write under this name. */
export async function openText(cipher: Cipher | null, name: string, text: string): Promise<string> {
  const sealed = text.startsWith(mark) ? text.slice(mark.length) : null;
  if (sealed === null && (cipher === null || cipher.acceptsPlain)) return text;
  if (cipher === null)
    throw new DurableError(
      "no-key",
      `${show(name)} is encrypted. Pass the key to createApp({ encryption }).`,
    );
  return cipher.open(sealed ?? "", placeOf(name)).catch((cause: unknown) => {
    if (!DurableError.is(cause, "tampered")) throw cause;
    const message = `${show(name)} was not written with the key. Delete it from the storage, or restore it from a backup.`;
    throw new DurableError("tampered", message, { cause });
  });
}

function placeOf(name: string): Place {
  return { runId: "", at: name };
}
