/**
 * Unpacks a build of the past from test/journal/builds and loads it beside the present one. Its classes are its own, so
 * the two share nothing but a storage.
 */

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { gunzipSync } from "node:zlib";
import type * as core from "@durable/core";
import type * as encryption from "@durable/core/encryption";
import type * as folder from "@durable/core/folder";
import type * as sqlite from "@durable/core/sqlite";

/** The entry points of one build. Those of the past have the types of today, without what was added since. */
export interface Build {
  readonly name: string;
  readonly core: typeof core;
  readonly sqlite: typeof sqlite;
  readonly folder: typeof folder;
  readonly encryption: typeof encryption;
}

/** The last build that wrote format 2. */
const format2 = {
  file: new URL("../builds/format-2.tgz", import.meta.url),
  sum: "f8399a35f9881122423d388ad592da99afb93d3d04507d0c7ae3bff58b3873b3",
};

/** Beside other things that can be made again. What lies under `node_modules` is run as it is. */
const cache = fileURLToPath(new URL("../../../../../node_modules/.cache/", import.meta.url));

/** Unpacks the build, once for all tests, and returns its folder. */
export function unpackFormat2(): string {
  const packed = readFileSync(format2.file);
  const sum = createHash("sha256").update(packed).digest("hex");
  if (sum !== format2.sum) throw new Error(`${fileURLToPath(format2.file)} has changed: its sum is ${sum}.`);
  const target = join(cache, `format-2-${sum.slice(0, 16)}`, "node_modules/@durable/core");
  if (existsSync(target)) return target;
  // Unpacked beside and then renamed, so that another process finds all of it or nothing.
  mkdirSync(dirname(target), { recursive: true });
  const beside = mkdtempSync(`${target}-`);
  for (const { path, content } of filesOf(gunzipSync(packed))) {
    const file = join(beside, path.replace(/^package\//, ""));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, path === "package/package.json" ? asInstalled(content) : content);
  }
  try {
    renameSync(beside, target);
  } catch (error) {
    rmSync(beside, { recursive: true, force: true });
    if (!existsSync(target)) throw error;
  }
  return target;
}

export async function loadFormat2(): Promise<Build> {
  const load = (path: string): Promise<unknown> =>
    import(/* @vite-ignore */ pathToFileURL(join(unpackFormat2(), "dist", path)).href);
  return {
    name: "the build of format 2",
    core: (await load("index.js")) as typeof core,
    sqlite: (await load("adapters/sqlite/index.js")) as typeof sqlite,
    folder: (await load("adapters/folder/index.js")) as typeof folder,
    encryption: (await load("adapters/encryption/index.js")) as typeof encryption,
  };
}

/** Tests run under a condition that points to sources, which a packed build does not have. */
function asInstalled(content: Buffer): string {
  const about = JSON.parse(content.toString("utf8")) as { imports: { [name: string]: object } };
  const imports = Object.entries(about.imports).map(([name, targets]) => [
    name,
    Object.fromEntries(Object.entries(targets).filter(([condition]) => condition !== "durable-source")),
  ]);
  return JSON.stringify({ ...about, imports: Object.fromEntries(imports) as object });
}

/** The files of a tar archive: headers of 512 bytes, contents padded to that. */
function* filesOf(archive: Buffer): Generator<{ readonly path: string; readonly content: Buffer }> {
  const text = (from: number, length: number): string =>
    archive.toString("utf8", from, from + length).replace(/\0.*$/s, "");
  for (let at = 0; archive[at] !== 0 && at < archive.length;) {
    const size = Number.parseInt(text(at + 124, 12), 8);
    const prefix = text(at + 345, 155);
    const path = `${prefix === "" ? "" : `${prefix}/`}${text(at, 100)}`;
    const kind = text(at + 156, 1);
    if (kind === "0" || kind === "") yield { path, content: archive.subarray(at + 512, at + 512 + size) };
    at += 512 + Math.ceil(size / 512) * 512;
  }
}
