/**
 * A copy of the workspace in which mutants are tried, so that nobody who works in the workspace sees them.
 *
 * scratch.1. It has the files of the working tree that git knows or would add, and links to the installed packages.
 *     The packages of the workspace itself are those of the copy.
 * scratch.2. Temporary files of tests are inside of it, and go with it.
 */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const made = new Set<string>();

export class Scratch {
  readonly root: string;
  readonly #base: string;
  readonly #temporary: string;

  constructor(root: string) {
    // Short: the address of a socket in it may have about 100 characters.
    this.#base = mkdtempSync(join(tmpdir(), "dm-"));
    made.add(this.#base);
    this.root = join(this.#base, "w");
    this.#temporary = join(this.#base, "t");
    // A database server in a test runs as another user.
    chmodSync(this.#base, 0o755);
    copyFiles(root, this.root);
    linkModules(root, this.root);
    this.clean();
  }

  /** The variables that keep temporary files inside. */
  get env(): Record<string, string> {
    return { TMPDIR: this.#temporary, TMP: this.#temporary, TEMP: this.#temporary };
  }

  /** Calls `use` with another text in a file, and puts the old one back. */
  async with<Value>(file: string, text: string, use: () => Promise<Value>): Promise<Value> {
    const path = join(this.root, file);
    const before = readFileSync(path, "utf8");
    writeFileSync(path, text);
    try {
      return await use();
    } finally {
      if (existsSync(path)) writeFileSync(path, before);
      this.clean();
    }
  }

  /** An empty folder beside the copy, which is removed with it. */
  newFolder(name: string): string {
    const folder = join(this.#base, name);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
    return folder;
  }

  /** Removes what tests have left behind. */
  clean(): void {
    rmSync(this.#temporary, { recursive: true, force: true });
    mkdirSync(this.#temporary);
    chmodSync(this.#temporary, 0o1777);
  }

  remove(): void {
    removeOne(this.#base);
  }
}

/** For an interrupt. */
export function removeAll(): void {
  for (const base of made) removeOne(base);
}

function removeOne(base: string): void {
  rmSync(base, { recursive: true, force: true, maxRetries: 5 });
  made.delete(base);
}

function copyFiles(from: string, to: string): void {
  const args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const listed = execFileSync("git", args, { cwd: from, encoding: "utf8", maxBuffer: 2 ** 26 }).split("\0");
  const folders = new Set<string>();
  for (const file of listed) {
    const source = join(from, file);
    if (file === "" || lstatSync(source, { throwIfNoEntry: false })?.isFile() !== true) continue;
    const target = join(to, file);
    if (!folders.has(dirname(target))) mkdirSync(dirname(target), { recursive: true });
    folders.add(dirname(target));
    copyFileSync(source, target);
  }
}

/** Folders of modules are made anew, because a link to a package of the workspace must lead to its copy. */
function linkModules(from: string, to: string): void {
  const modules = ["", ...workspaces(from)].map((folder) => join(folder, "node_modules"));
  for (const folder of modules)
    if (existsSync(join(from, folder))) linkFolder(join(from, folder), join(to, folder));
}

function workspaces(root: string): string[] {
  return ["packages", "examples", "sdks"].flatMap((parent) =>
    existsSync(join(root, parent)) ? readdirSync(join(root, parent)).map((name) => join(parent, name)) : [],
  );
}

function linkFolder(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const name of readdirSync(from)) {
    const source = join(from, name);
    const target = join(to, name);
    if (/^\.(?:cache|vite)/.test(name)) continue;
    if (lstatSync(source).isSymbolicLink()) symlinkSync(readlinkSync(source), target);
    else if (name.startsWith("@")) linkFolder(source, target);
    else symlinkSync(source, target, "junction");
  }
}
