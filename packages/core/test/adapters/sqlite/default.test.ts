import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, inject, it, vi } from "vitest";
import { defaultStorage } from "../../../src/adapters/sqlite/default.ts";
import { SqliteStorage } from "../../../src/adapters/sqlite/index.ts";
import { Child, killChildren } from "../../support/child-process.ts";
import { request } from "./support/samples.ts";
import { tempFolder, type TempFolder } from "../../support/sqlite-temp.ts";

const full = inject("full");
let temp: TempFolder;

beforeEach(() => {
  temp = tempFolder();
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await killChildren();
  temp.remove();
});

function start(args: readonly string[], durableDir = ""): Child {
  return new Child("sqlite-child-default.ts", args, { cwd: temp.folder, env: { DURABLE_DIR: durableDir } });
}

async function go(...children: Child[]): Promise<void> {
  await Promise.all(children.map((child) => child.line("ready")));
  for (const child of children) child.send("go");
  await Promise.all(children.map((child) => child.done()));
}

describe("a program that names no storage", () => {
  const first = full ? [1, 2, 3, 4] : [1, 2];
  it(`keeps its journal in .durable, out of version control, with one secret for ${first.length} first processes`, async () => {
    const children = first.map((n) => start(["start", `run${n}`]));
    await go(...children);
    const folder = join(temp.folder, ".durable");
    expect(readdirSync(folder).toSorted()).toEqual([".gitignore", "journal.db", "secret"]);
    expect(readdirSync(temp.folder)).toEqual([".durable"]);
    expect(readFileSync(join(folder, ".gitignore"), "utf8")).toBe("*\n");
    expect(statSync(join(folder, "secret")).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, "secret")).nlink).toBe(1);
    const secrets = await Promise.all(children.map((child) => child.line("secret")));
    expect(new Set(secrets).size).toBe(1);
    const tokens = await Promise.all(children.map((child) => child.line("token")));
    expect(new Set(tokens).size).toBe(first.length);
  });

  it("resumes in one process what another one asked", async () => {
    const asking = start(["start", "run"]);
    await go(asking);
    const token = await asking.line("token");
    const answering = start(["resume", token]);
    await go(answering);
    const { status, outcome } = JSON.parse(await answering.line("resumed")) as Record<string, unknown>;
    expect(status).toBe("accepted");
    expect(outcome).toMatchObject({ status: "completed", output: [asking.process.pid, "yes"] });
  });

  it("is moved by DURABLE_DIR, relative or not", async () => {
    const elsewhere = join(temp.folder, "else", "where");
    const folders = [join("else", "where"), ...(full ? [elsewhere] : [])];
    await go(...folders.map((folder, n) => start(["start", `run${n}`], folder)));
    expect(readdirSync(temp.folder)).toEqual(["else"]);
    expect(readdirSync(elsewhere).toSorted()).toEqual([".gitignore", "journal.db", "secret"]);
    const storage = new SqliteStorage(join(elsewhere, "journal.db"));
    expect((await storage.list()).runs).toHaveLength(folders.length);
    await storage.close();
  });

  it("does not hide from version control a folder that holds other things", async () => {
    vi.stubEnv("DURABLE_DIR", temp.folder);
    writeFileSync(join(temp.folder, "program.ts"), "");
    const storage = await defaultStorage();
    expect(existsSync(join(temp.folder, ".gitignore"))).toBe(false);
    await storage.close?.();
  });

  it("opens one file once per process, and again after it was closed", async () => {
    vi.stubEnv("DURABLE_DIR", join(temp.folder, "a"));
    const [one, two] = await Promise.all([defaultStorage(), defaultStorage()]);
    expect(one).toBe(two);
    vi.stubEnv("DURABLE_DIR", join(temp.folder, "b"));
    const other = await defaultStorage();
    expect(other).not.toBe(one);
    await other.close?.();
    vi.stubEnv("DURABLE_DIR", join(temp.folder, "a"));
    expect(await defaultStorage()).toBe(one);
    await one.close?.();
    const again = await defaultStorage();
    await again.append(request("one", 0));
    expect(again).not.toBe(one);
    await again.close?.();
  });
});

describe("the secret beside the journal", () => {
  it("is not made before it is needed, and then stays", async () => {
    const storage = new SqliteStorage(temp.path);
    await storage.append(request("one", 0));
    expect(existsSync(join(temp.folder, "secret"))).toBe(false);
    const made = await storage.secret();
    expect(made).toMatch(/^[\w-]{43}$/);
    await storage.close();
    const again = new SqliteStorage(temp.path);
    expect(await again.secret()).toBe(made);
    await again.close();
  });

  it("is the one that was put there", async () => {
    writeFileSync(join(temp.folder, "secret"), "  from the vault \n");
    const storage = new SqliteStorage(temp.path);
    expect(await storage.secret()).toBe("from the vault");
    await storage.close();
  });

  it("is never empty", async () => {
    writeFileSync(join(temp.folder, "secret"), "\n");
    const storage = new SqliteStorage(temp.path);
    await expect(storage.secret()).rejects.toMatchObject({ code: "no-secret" });
    await storage.close();
  });

  it("that cannot be read is an error, not a new secret", async () => {
    mkdirSync(join(temp.folder, "secret"));
    const storage = new SqliteStorage(temp.path);
    await expect(storage.secret()).rejects.toMatchObject({ code: "storage-failed" });
    await storage.close();
  });
});
