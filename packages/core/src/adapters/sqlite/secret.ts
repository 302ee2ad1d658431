/**
 * The secret beside the journal: created once, readable only by its owner, the same for every process.
 *
 * secret.1. In a folder of this library, such as `.durable`, it is `secret`. In any other folder it is
 *     `.durable/<database>.secret`, which names its database and is ignored by git. A `secret` that is there is used.
 * secret.2. A file that another user owns or may write to is refused: that user could sign tokens. So is a link of either
 *     kind, which may lead to a file whose content others know, and a folder of another user, who could put another file
 *     there. A file that others may read, and a folder that they may write to, are said.
 */

import type { Stats } from "node:fs";
import { basename, dirname, join } from "node:path";
import { DurableError } from "../../values/errors.ts";
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from "./node-fs.ts";
import {
  codeOf,
  draftOf,
  fileMode,
  ignoreAll,
  ignoreInGit,
  makeFolder,
  say,
  sayLoose,
} from "./private-files.ts";

/** The name of a folder that holds nothing but files of this library. */
const own = ".durable";

export function secretBeside(path: string): string {
  const file = placeOf(path);
  return (
    read(file) ?? write(file, Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url"))
  );
}

/** Copies the secret of one database to where that of another one is looked for. Nothing happens if there is none. */
export function copySecret(from: string, to: string): void {
  const [secret, file] = [read(placeOf(from)), placeOf(to)];
  if (secret === null || (read(file) ?? write(file, secret)) === secret) return;
  throw refused(
    file,
    "has another content than the one that is copied. Choose another folder for the backup.",
  );
}

/** Creates the file, and gives what it has then: another process may have been first. */
function write(file: string, secret: string): string {
  const folder = dirname(file);
  makeFolder(folder);
  if (basename(folder) === own) ignoreInGit(folder);
  const draft = draftOf(file);
  try {
    // On disk before it is used, because a secret lost in a power cut would invalidate every token that was sent.
    synced(openSync(draft, "wx", fileMode), `${secret}\n`);
    // A link is atomic: if several processes create a secret at once, one succeeds, and all read that one.
    linkSync(draft, file);
    synced(openSync(folder, "r"));
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  return read(file) ?? "";
}

function placeOf(path: string): string {
  const folder = dirname(path);
  const shared = join(folder, "secret");
  const named = join(folder, own, `${basename(path)}.secret`);
  if (existsSync(named)) return named;
  return existsSync(shared) || isOurs(folder) ? shared : named;
}

/** True for a folder that this library has made for journals: git ignores all of it. */
function isOurs(folder: string): boolean {
  if (basename(folder) === own) return true;
  try {
    return readFileSync(join(folder, ".gitignore"), "utf8") === ignoreAll;
  } catch {
    return false;
  }
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
  let descriptor: number;
  try {
    descriptor = openSync(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    if (codeOf(error) === "ELOOP" || codeOf(error) === "EMLINK")
      throw refused(file, "is a link. Replace it by the file that it leads to, if you trust its content.");
    throw error;
  }
  try {
    // Before the file is checked: a draft that goes meanwhile takes its name with it.
    const drafts = draftsOf(file, fstatSync(descriptor));
    // The open file is checked, so that it cannot be exchanged between the check and the reading.
    const stats = fstatSync(descriptor);
    refuseForeign(file, stats);
    if (stats.isFile() && stats.nlink - drafts > 1)
      throw refused(
        file,
        "has another name, by a hard link. If you trust its content, replace it by a copy of itself; otherwise delete it.",
      );
    checkFolder(file);
    sayLoose(file, stats.mode, 0o077);
    const text = readFileSync(descriptor, "utf8").trim();
    if (text !== "") return text;
  } finally {
    closeSync(descriptor);
  }
  throw refused(
    file,
    "is empty. Restore its content, so that resume tokens stay valid, or delete the file to create a new secret.",
  );
}

/** Other names of the file that a process which creates it has not removed yet, or died before it could. */
function draftsOf(file: string, { dev, ino, nlink }: Stats): number {
  if (nlink < 2) return 0;
  const folder = dirname(file);
  const isDraft = (name: string): boolean => {
    if (!name.startsWith(`${basename(file)}.`) || !/\.\d+\.[0-9a-f]{8}$/.test(name)) return false;
    const found = lstatSync(join(folder, name), { throwIfNoEntry: false });
    return found?.dev === dev && found.ino === ino;
  };
  return readdirSync(folder).filter(isDraft).length;
}

/** The folder itself, and a link by which it is reached: their owners could put another file in its place. */
function checkFolder(file: string): void {
  const user = process.getuid?.();
  if (user === undefined || process.platform === "win32") return;
  const folder = dirname(file);
  const { uid, mode } = statSync(folder);
  for (const owner of [uid, lstatSync(folder).uid]) {
    if (owner === user || owner === 0) continue;
    const why = `is in a folder of user ${owner}, who can replace it, and this process runs as user ${user}.`;
    const ways =
      "Move the journal to a folder of your own, change the owner of the folder, or pass { secret } to createApp().";
    // In a container, root often works in a folder that a user of the host has made.
    if (user !== 0) throw refused(file, `${why} ${ways}`);
    say(folder, `the secret file "${file}" ${why} ${ways}`);
  }
  // Where the folder is sticky, others can only add files, and the owner of the file tells.
  if ((mode & 0o1000) === 0) sayLoose(folder, mode, 0o022);
}

/** Root may own it, because root can read and write every file anyway. */
function refuseForeign(file: string, { uid, mode }: Stats): void {
  const user = process.getuid?.();
  if (user === undefined || process.platform === "win32") return;
  if (uid !== user && uid !== 0)
    throw refused(
      file,
      `belongs to user ${uid}, and this process runs as user ${user}. If you trust its content, change its owner; otherwise delete it.`,
    );
  if ((mode & 0o022) !== 0)
    throw refused(
      file,
      `can be written by other users (mode ${(mode & 0o777).toString(8)}). If you trust its content, run chmod 600 on it; otherwise delete it.`,
    );
}

function refused(file: string, why: string): DurableError {
  return new DurableError("no-secret", `The secret file "${file}" ${why}`);
}
