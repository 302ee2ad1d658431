/**
 * A bucket in a folder, one file per object: for tests, and to try on one machine what will run on an object store.
 * Several processes may share it. It relies on an atomic `link`, so check that before you use a network file system.
 *
 * folder.1. Files and folders are readable only by their owner, from the moment they exist.
 * folder.2. Two keys never share a file, and no key leads out of the folder: names that would are refused.
 */

import { randomUUID } from "node:crypto";
import type { Dirent } from "node:fs";
import { link, mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { DurableError, describeError, show } from "../../values/errors.ts";
import type { Bucket, BucketPage, BucketQuery } from "../../ports/bucket.ts";

const pageSize = 1_000;
/** Given when they are created, so that a umask can only take rights away. */
const [fileMode, folderMode] = [0o600, 0o700];
/** `nameOf` never returns a dot, so these names cannot collide with folders or with objects. */
const suffix = ".txt";
const underWay = ".writing";

/** Options of `FolderBucket`. */
export interface FolderOptions {
  /**
   * False lets the operating system decide when files reach the disk: they survive the process, but perhaps
   * not the machine. True by default.
   */
  readonly sync?: boolean | undefined;
}

/** A bucket in a local folder: one file per key. */
export class FolderBucket implements Bucket {
  /** The folder. */
  readonly path: string;
  readonly #sync: boolean;

  constructor(path: string, { sync = true }: FolderOptions = {}) {
    this.path = resolve(path);
    this.#sync = sync;
  }

  get(key: string): Promise<string | null> {
    return this.#do(async () => {
      try {
        return await readFile(this.#fileOf(key), "utf8");
      } catch (error) {
        if (isMissing(error)) return null;
        throw error;
      }
    });
  }

  create(key: string, text: string): Promise<boolean> {
    return this.#write(text, key, async (written, file) => {
      try {
        await link(written, file);
        return true;
      } catch (error) {
        if (codeOf(error) === "EEXIST") return false;
        throw error;
      }
    });
  }

  put(key: string, text: string): Promise<void> {
    return this.#write(text, key, (written, file) => rename(written, file));
  }

  delete(keys: readonly string[]): Promise<void> {
    return this.#do(async () => {
      for (const key of keys) await rm(this.#fileOf(key), { force: true });
    });
  }

  list({ prefix, after = "", limit = pageSize }: BucketQuery): Promise<BucketPage> {
    return this.#do(async () => {
      const folder = prefix.slice(0, prefix.lastIndexOf("/") + 1);
      const parts = folder === "" ? [] : partsOf(folder.slice(0, -1));
      const all = await keysIn(join(this.path, ...parts), folder);
      const found = all.filter((key) => key.startsWith(prefix) && key > after).toSorted(byCharacters);
      const keys = found.slice(0, Math.min(limit, pageSize));
      return { keys, more: keys.length < found.length };
    });
  }

  #fileOf(key: string): string {
    return join(this.path, ...partsOf(key)) + suffix;
  }

  /** The text is complete and on disk before the file gets its name; the name is on disk before the call returns. */
  #write<T>(text: string, key: string, name: (written: string, file: string) => Promise<T>): Promise<T> {
    return this.#do(async () => {
      const file = this.#fileOf(key);
      const folder = dirname(file);
      await mkdir(folder, { recursive: true, mode: folderMode });
      const written = join(folder, `${underWay}-${randomUUID()}`);
      try {
        const handle = await open(written, "wx", fileMode);
        try {
          await handle.writeFile(text);
          if (this.#sync) await handle.sync();
        } finally {
          await handle.close();
        }
        const result = await name(written, file);
        if (this.#sync) await syncFolder(folder);
        return result;
      } finally {
        await rm(written, { force: true });
      }
    });
  }

  async #do<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (DurableError.is(error)) throw error;
      const code = codes[codeOf(error)] ?? "storage-failed";
      const message = `Cannot use the folder "${this.path}" (${describeError(error)}). ${advice[code]}`;
      throw new DurableError(code, message, { cause: error });
    }
  }
}

type FolderCode = "storage-full" | "storage-readonly" | "storage-busy" | "storage-failed";

const advice: Readonly<Record<FolderCode, string>> = {
  "storage-full": "Free some space, then try again.",
  "storage-readonly": "Check the permissions of the folder.",
  "storage-busy": "Try again later.",
  "storage-failed": "Check the path and the disk.",
};

const codes: Readonly<Record<string, FolderCode>> = {
  ENOSPC: "storage-full",
  EDQUOT: "storage-full",
  EACCES: "storage-readonly",
  EPERM: "storage-readonly",
  EROFS: "storage-readonly",
  EMFILE: "storage-busy",
};

function codeOf(error: unknown): string {
  return String((error as { code?: unknown } | null)?.code);
}

function isMissing(error: unknown): boolean {
  return codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR";
}

/** The names of a key. An empty one would fall together with another key, and dots mean other folders elsewhere. */
function partsOf(key: string): string[] {
  const parts = key.split("/");
  if (!parts.some((part) => part === "" || part === "." || part === "..")) return parts.map(nameOf);
  throw new DurableError(
    "invalid-name",
    `${show(key)} is not a valid key of a bucket. Use names separated by "/", none of them empty, "." or "..".`,
  );
}

/** One part of a key as a file name that is valid on every system. */
function nameOf(part: string): string {
  return encodeURIComponent(part).replaceAll(
    /[.!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

async function keysIn(folder: string, prefix: string): Promise<string[]> {
  let entries: Dirent[];
  try {
    entries = await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
  const keys: string[] = [];
  for (const entry of entries) {
    const { name } = entry;
    if (entry.isDirectory())
      keys.push(...(await keysIn(join(folder, name), `${prefix}${decodeURIComponent(name)}/`)));
    else if (name.endsWith(suffix)) keys.push(prefix + decodeURIComponent(name.slice(0, -suffix.length)));
  }
  return keys;
}

function byCharacters(a: string, b: string): number {
  return a < b ? -1 : 1;
}

async function syncFolder(folder: string): Promise<void> {
  // Some systems cannot open folders; they make names durable without it.
  const handle = await open(folder, "r").catch(() => null);
  try {
    await handle?.sync().catch(() => {});
  } finally {
    await handle?.close();
  }
}
