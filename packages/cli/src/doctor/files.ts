/** Checks of the machine, the settings and the files. They open nothing for writing. */

import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative } from "node:path";
import { addLine } from "../commands/init.ts";
import type { StorePlace } from "../store.ts";
import type { CliStreams } from "../terminal.ts";
import type { Finding } from "./finding.ts";

export function checkNode(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const fits = major > 22 || (major === 22 && minor >= 13);
  return fits
    ? { level: "ok", check: "node", text: `Node ${process.versions.node} has node:sqlite` }
    : {
        level: "fail",
        check: "node",
        text: `Node ${process.versions.node} is too old`,
        fix: "install Node 22.13 or newer",
      };
}

/** Settings that cannot be meant. */
export function checkSettings({ env, cwd }: CliStreams): Finding[] {
  const found: Finding[] = [];
  const secret = env["DURABLE_SECRET"];
  if (secret !== undefined && secret.length < 16)
    found.push({
      level: "fail",
      check: "settings",
      text: `DURABLE_SECRET has ${secret.length} characters, so it can be guessed`,
      fix: "openssl rand -base64 32",
    });
  const folder = env["DURABLE_DIR"];
  if (folder && !existsSync(join(cwd, folder)) && !existsSync(folder))
    found.push({
      level: "warn",
      check: "settings",
      text: `DURABLE_DIR is ${folder}, which does not exist`,
      fix: "unset DURABLE_DIR, or run a workflow",
    });
  if (folder && env["DURABLE_URL"])
    found.push({
      level: "warn",
      check: "settings",
      text: "DURABLE_URL and DURABLE_DIR are both set; durable uses DURABLE_URL, programs use DURABLE_DIR",
      fix: "unset one of them",
    });
  return found;
}

/** The SQLite file: schema, modes, git, secret. */
export async function checkFile(place: StorePlace, streams: CliStreams): Promise<Finding[]> {
  const { path, label } = place;
  if (path === null || place.kind !== "sqlite") return [];
  if (!existsSync(path))
    return [
      {
        level: "warn",
        check: "journal",
        text: `There is no journal at ${label}`,
        fix: "run a workflow, or name a journal with --store",
      },
    ];
  return [await checkSchema(path, label), ...checkModes(path), ...checkGit(path, streams.cwd)];
}

interface Schema {
  readonly version: number;
  readonly names: readonly string[];
  readonly sound: string;
}

async function readSchema(file: string): Promise<Schema> {
  const { DatabaseSync } = await import("node:sqlite");
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const version = Number(database.prepare("PRAGMA user_version").get()?.["user_version"]);
    const names = database.prepare("SELECT name FROM sqlite_schema ORDER BY name").all();
    const sound = String(database.prepare("PRAGMA quick_check(1)").get()?.["quick_check"]);
    return { version, names: names.map(({ name }) => String(name)), sound };
  } finally {
    database.close();
  }
}

/** What this version would make: there is no second list of tables to keep right. */
async function newestSchema(): Promise<Schema> {
  const { SqliteStorage } = await import("@durable/core/sqlite");
  const folder = mkdtempSync(join(tmpdir(), "durable-doctor-"));
  try {
    const fresh = join(folder, "journal.db");
    await new SqliteStorage(fresh).close();
    return await readSchema(fresh);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function checkSchema(path: string, label: string): Promise<Finding> {
  const finding = (
    level: Finding["level"],
    check: "journal" | "schema",
    text: string,
    fix?: string,
  ): Finding => ({
    level,
    check,
    text: `${label} ${text}`,
    ...(fix === undefined ? {} : { fix }),
  });
  try {
    const [wanted, found] = [await newestSchema(), await readSchema(path)];
    if (found.sound !== "ok")
      return finding("fail", "journal", `is damaged: ${found.sound}`, "restore it from a backup");
    if (found.version > wanted.version)
      return finding(
        "fail",
        "schema",
        `has schema ${found.version}, which is newer than this version knows`,
        "npm i @durable/core@latest @durable/cli@latest",
      );
    if (found.version < wanted.version || wanted.names.some((name) => !found.names.includes(name)))
      return finding(
        "fail",
        "schema",
        `has schema ${found.version} of a version before the first release`,
        "finish its runs with that version, then move the file away",
      );
    return finding(
      "ok",
      "journal",
      `has ${(statSync(path).size / 1_048_576).toFixed(1)} MB, schema ${found.version}, and is sound`,
    );
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return finding("fail", "journal", `cannot be read: ${reason}`, "check the file and its permissions");
  }
}

function checkModes(path: string): Finding[] {
  if (process.platform === "win32") return [];
  const folder = dirname(path);
  const files = [
    path,
    `${path}-wal`,
    `${path}-shm`,
    join(folder, "secret"),
    join(folder, ".durable", `${basename(path)}.secret`),
  ];
  const loose = files.filter((file) => existsSync(file) && (statSync(file).mode & 0o077) !== 0);
  if (loose.length === 0) return [{ level: "ok", check: "file-mode", text: "only you can read the journal" }];
  return [
    {
      level: "fail",
      check: "file-mode",
      text: `other users can read ${loose.map((file) => `${basename(file)} (mode ${(statSync(file).mode & 0o777).toString(8)})`).join(", ")}`,
      fix: `chmod 600 ${loose.join(" ")}`,
      repair: () => loose.forEach((file) => chmodSync(file, 0o600)),
    },
  ];
}

function checkGit(path: string, cwd: string): Finding[] {
  const git = (...args: string[]): { status: number | null; out: string } => {
    const { status, stdout } = spawnSync("git", ["-C", dirname(path), ...args], { encoding: "utf8" });
    return { status, out: (stdout ?? "").trim() };
  };
  const top = git("rev-parse", "--show-toplevel");
  if (top.status !== 0) return [];
  if (git("ls-files", "--error-unmatch", path).status === 0)
    return [
      {
        level: "fail",
        check: "git",
        text: `${relative(cwd, path)} is committed to git`,
        fix: `git rm --cached ${relative(cwd, path)}`,
      },
    ];
  if (git("check-ignore", "-q", path).status === 0)
    return [{ level: "ok", check: "git", text: "git ignores the journal" }];
  const line = `${relative(top.out, dirname(path)) || basename(path)}/`;
  return [
    {
      level: "fail",
      check: "git",
      text: `${relative(cwd, path)} is not ignored by git`,
      fix: `echo '${line}' >> .gitignore`,
      repair: () => void addLine(top.out, ".gitignore", line),
    },
  ];
}

/** True when tokens can be signed without making a new secret. */
export function hasSecretFile(path: string): boolean {
  const folder = dirname(path);
  return (
    existsSync(join(folder, "secret")) || existsSync(join(folder, ".durable", `${basename(path)}.secret`))
  );
}
