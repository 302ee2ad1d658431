/**
 * Files that only their owner may read. Modes are given when a file is created, so that there is no moment in which
 * others can open it, and a umask can only take rights away. Windows has no modes.
 */

import { closeSync, constants, linkSync, mkdirSync, openSync, rmSync, writeFileSync } from "./node-fs.ts";
import { join } from "node:path";
import { systemWorld } from "../../ports/world.ts";

export const fileMode = 0o600;
export const folderMode = 0o700;

/** Creates a folder and the folders above it that are missing; true when it made one. Existing ones stay as they are. */
export function makeFolder(folder: string): boolean {
  return mkdirSync(folder, { recursive: true, mode: folderMode }) !== undefined;
}

/** Keeps everything in a folder out of version control. An existing `.gitignore` is not changed. */
export function ignoreInGit(folder: string): void {
  try {
    writeFileSync(join(folder, ".gitignore"), ignoreAll, { flag: "wx", mode: fileMode });
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  }
}

export const ignoreAll = "*\n";

/**
 * Puts an empty file at a path where there is none. It is linked there and never opened under this name, because
 * closing a descriptor drops the locks that other threads of this process have on the same file.
 */
export function createEmpty(path: string): void {
  const draft = draftOf(path);
  closeSync(openSync(draft, "wx", fileMode));
  try {
    linkSync(draft, path);
  } catch (error) {
    // Some file systems have no links. Another process may have been first.
    if (codeOf(error) !== "EEXIST") closeSync(openSync(path, "a", fileMode));
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Files and folders of which something was said: once in each process. */
const said = new Set<string>();

/** Warns about a file or a folder. */
export function say(file: string, text: string): void {
  if (said.has(file)) return;
  said.add(file);
  systemWorld.warn(text);
}

const octal = (mode: number): string => (mode & 0o777).toString(8);

/** Says that other users have some of these rights to a file or a folder that was there before. */
export function sayLoose(file: string, mode: number, rights: number): void {
  if ((mode & rights) === 0 || process.platform === "win32") return;
  const may = (mode & 0o022) === 0 ? "read" : "write to";
  const own = (mode & constants.S_IFMT) === constants.S_IFDIR ? folderMode : fileMode;
  say(file, `other users can ${may} "${file}" (mode ${octal(mode)}). Run chmod ${octal(own)} on it.`);
}

/** A name beside a file that no other process uses. */
export function draftOf(file: string): string {
  return `${file}.${process.pid}.${Buffer.from(crypto.getRandomValues(new Uint8Array(4))).toString("hex")}`;
}

export function codeOf(error: unknown): string {
  return String((error as { code?: unknown } | null)?.code);
}
