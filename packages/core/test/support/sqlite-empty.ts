/** Empty journal files. To make the tables of one takes twice as long as to open it, so they are made once for a process. */

import { readFileSync, writeFileSync } from "node:fs";
import { openDatabase } from "../../src/adapters/sqlite/open.ts";
import { memoryFolder, tempFolder } from "./sqlite-temp.ts";

let empty: Buffer | undefined;

/** Puts one there, as the first process that opens the path would. */
export function putEmptyJournal(path: string): void {
  empty ??= made();
  writeFileSync(path, empty, { mode: 0o600 });
}

function made(): Buffer {
  const { path, remove } = tempFolder(memoryFolder);
  openDatabase(path, 1_000).database.close();
  const bytes = readFileSync(path);
  remove();
  return bytes;
}
