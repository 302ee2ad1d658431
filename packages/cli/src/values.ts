/** Values on the command line: JSON, text, `@file`, or `-` for stdin. */

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { CliError } from "./exit.ts";
import type { CliStreams } from "./terminal.ts";

/** Text that is not JSON is taken as text, so that a word needs no quotes inside quotes. */
export async function readValue(text: string, streams: CliStreams): Promise<unknown> {
  const source = await textOf(text, streams);
  try {
    return JSON.parse(source) as unknown;
  } catch {
    if (/^\s*[[{"]/.test(source)) throw new CliError(`This is not valid JSON: ${source.slice(0, 200)}`);
    return source;
  }
}

async function textOf(text: string, { cwd, stdin }: CliStreams): Promise<string> {
  if (text === "-") {
    const parts: string[] = [];
    for await (const part of stdin) parts.push(String(part));
    return parts.join("");
  }
  if (!text.startsWith("@")) return text;
  try {
    return readFileSync(resolve(cwd, text.slice(1)), "utf8");
  } catch (error) {
    throw new CliError(
      `${text.slice(1)} could not be read: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

/** `name=value` pairs as an object. */
export async function readPairs(
  pairs: readonly string[],
  streams: CliStreams,
): Promise<Readonly<Record<string, unknown>>> {
  const found: [string, unknown][] = [];
  for (const pair of pairs) {
    const at = pair.indexOf("=");
    if (at < 1) throw new CliError(`"${pair}" is not a pair. Write name=value.`);
    found.push([pair.slice(0, at), await readValue(pair.slice(at + 1), streams)]);
  }
  return Object.fromEntries(found);
}
