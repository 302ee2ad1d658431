/** The secret beside the journal: made once, readable by its owner alone, the same for every process. */

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
    // On disk before anybody signs with it: a secret lost in a power cut would void every token sent.
    synced(openSync(draft, "wx", 0o600), `${randomBytes(32).toString("base64url")}\n`);
    // A link appears whole or not at all: of several processes one makes the secret, all read that one.
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
    `The secret in ${file} is empty. Put the former one back so that tokens stay valid; or remove the file, and a new one is made.`,
  );
}
