/** The secret beside the journal: created once, readable only by its owner, the same for every process. */

import { randomBytes } from "node:crypto";
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { DurableError } from "../../values/errors.ts";

export function secretBeside(path: string): string {
  const file = join(dirname(path), "secret");
  const known = read(file);
  if (known !== null) return known;
  const draft = `${file}.${process.pid}.${randomBytes(4).toString("hex")}`;
  try {
    // On disk before it is used, because a secret lost in a power cut would invalidate every token that was sent.
    synced(openSync(draft, "wx", 0o600), `${randomBytes(32).toString("base64url")}\n`);
    // A link is atomic: if several processes create a secret at once, one succeeds, and all read that one.
    linkSync(draft, file);
    synced(openSync(dirname(file), "r"));
  } catch (error) {
    if ((error as { code?: string }).code !== "EEXIST") throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  return read(file) ?? "";
}

function synced(descriptor: number, text?: string): void {
  try {
    if (text !== undefined) writeSync(descriptor, text);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function read(file: string): string | null {
  let text: string;
  try {
    text = readFileSync(file, "utf8").trim();
  } catch (error) {
    if ((error as { code?: string }).code === "ENOENT") return null;
    throw error;
  }
  if (text !== "") return text;
  throw new DurableError(
    "no-secret",
    `The secret file "${file}" is empty. Restore its content, so that resume tokens stay valid, or delete the file to create a new secret.`,
  );
}
