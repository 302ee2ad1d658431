/** What a golden file holds, as one line: journals by what they say, so that they may be formatted. */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { basename } from "node:path";

export function sumOf(file: string): string {
  const bytes = readFileSync(file);
  const content = file.endsWith(".json") ? JSON.stringify(JSON.parse(bytes.toString("utf8"))) : bytes;
  return `${createHash("sha256").update(content).digest("hex")}  ${basename(file)}`;
}
