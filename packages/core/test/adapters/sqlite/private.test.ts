/** Files that other users of the machine must not read or write, whatever the umask. */

import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, inject, test, vi } from "vitest";
import { SqliteStorage } from "../../../src/adapters/sqlite/index.ts";
import { tempFolder, type TempFolder } from "../../support/sqlite-temp.ts";

const child = fileURLToPath(new URL("support/child-private.ts", import.meta.url));
const hasModes = process.platform !== "win32";
const isRoot = process.getuid?.() === 0;

let temp: TempFolder;
beforeEach(() => {
  temp = tempFolder();
});
afterEach(() => temp.remove());

/** Runs a program under a umask; returns what it printed. */
function under(umask: string, ...args: readonly string[]): string {
  const command = [process.execPath, "--conditions=durable-source", child, ...args];
  const { status, stdout, stderr } = spawnSync("sh", ["-c", `umask ${umask}; exec "$@"`, "sh", ...command], {
    cwd: temp.folder,
    env: { ...process.env, DURABLE_DIR: "" },
    encoding: "utf8",
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return stdout;
}

/** Everything in a folder that its group or others may use in any way. */
function open(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => (lstatSync(path).mode & 0o077) !== 0)
    .map((path) => relative(folder, path));
}

describe.runIf(hasModes)("files of other users", () => {
  // The one that leaves all to the program; each is a process.
  const umasks = inject("full") ? ["000", "022", "077"] : ["000"];
  test.each(umasks)(
    "a reader on the same machine opens no database, log or secret, under umask %s",
    (umask) => {
      // The program lists the modes while the database is open, so that its logs are there.
      const modes = JSON.parse(under(umask, "default")) as Record<string, string>;
      expect(Object.keys(modes).toSorted()).toEqual([
        ".durable",
        ".durable/.gitignore",
        ".durable/journal.db",
        ".durable/journal.db-shm",
        ".durable/journal.db-wal",
        ".durable/secret",
      ]);
      for (const [name, mode] of Object.entries(modes))
        expect([name, mode]).toEqual([name, name === ".durable" ? "700" : "600"]);
      expect(open(temp.folder)).toEqual([]);
    },
  );

  test.each(umasks)(
    "a reader on the same machine opens no object of a folder bucket, under umask %s",
    (umask) => {
      under(umask, "bucket");
      expect(readdirSync(join(temp.folder, "bucket"), { recursive: true })).toContain("a/b.txt");
      expect(open(temp.folder)).toEqual([]);
    },
  );

  test("a .durable that an older version left open to others is closed", () => {
    mkdirSync(join(temp.folder, ".durable"));
    chmodSync(join(temp.folder, ".durable"), 0o755);
    under("022", "default");
    expect(statSync(join(temp.folder, ".durable")).mode & 0o777).toBe(0o700);
  });
});

describe("the secret of a database at a path of its own", () => {
  test("a commit of everything in the project contains no secret", async () => {
    mkdirSync(join(temp.folder, "data"));
    const storage = new SqliteStorage(join(temp.folder, "data", "orders.db"));
    const made = await storage.secret();
    await storage.close();
    const file = join(temp.folder, "data", ".durable", "orders.db.secret");
    expect(readFileSync(file, "utf8").trim()).toBe(made);
    expect(existsSync(join(temp.folder, "data", "secret"))).toBe(false);
    if (hasModes) expect(open(join(temp.folder, "data", ".durable"))).toEqual([]);
    const git = (...args: readonly string[]): string =>
      spawnSync("git", args, { cwd: temp.folder, encoding: "utf8" }).stdout;
    git("init", "-q");
    git("add", "-A");
    const staged = git("ls-files");
    expect(staged).toContain("data/orders.db");
    expect(staged).not.toContain("secret");
  });

  test("a commit of everything contains no secret, also if .durable was made by the program itself", async () => {
    mkdirSync(join(temp.folder, ".durable"));
    const storage = new SqliteStorage(join(temp.folder, ".durable", "orders.db"));
    await storage.secret();
    await storage.close();
    expect(readdirSync(join(temp.folder, ".durable")).toSorted()).toEqual([
      ".gitignore",
      "orders.db",
      "secret",
    ]);
  });

  test("a secret that an older version made is still used, so that its tokens stay good", async () => {
    writeFileSync(join(temp.folder, "secret"), "made by an older version\n", { mode: 0o600 });
    const storage = new SqliteStorage(temp.path);
    expect(await storage.secret()).toBe("made by an older version");
    expect(existsSync(join(temp.folder, ".durable"))).toBe(false);
    await storage.close();
  });
});

describe.runIf(hasModes)("a secret that somebody else planted", () => {
  const planted = "known to the one who put it here";
  const refusal = async (): Promise<unknown> => {
    const storage = new SqliteStorage(temp.path);
    const error = await storage.secret().catch((reason: unknown) => reason);
    await storage.close();
    return error;
  };
  const refused = (message: RegExp): object => ({
    code: "no-secret",
    message: expect.stringMatching(message) as string,
  });

  test.each(["666", "620", "602"])("a file of mode %s, which others can write, is refused", async (mode) => {
    const file = join(temp.folder, "secret");
    writeFileSync(file, planted);
    chmodSync(file, Number.parseInt(mode, 8));
    expect(await refusal()).toMatchObject(
      refused(/can be written by other users \(mode \d+\)\. .*chmod 600/),
    );
    chmodSync(file, 0o644);
    const storage = new SqliteStorage(temp.path);
    expect(await storage.secret()).toBe(planted);
    await storage.close();
  });

  // Only root can give a file away.
  test.runIf(isRoot)("a file that belongs to another user is refused", async () => {
    const file = join(temp.folder, "secret");
    writeFileSync(file, planted, { mode: 0o600 });
    chownSync(file, 12_345, 12_345);
    expect(await refusal()).toMatchObject(refused(/belongs to user 12345/));
  });
});

describe.runIf(hasModes)("files that others have planted or may use", () => {
  const planted = (name: string): string => {
    void new SqliteStorage(temp.path).close();
    const file = join(temp.folder, ".durable", "journal.db.secret");
    mkdirSync(join(temp.folder, ".durable"), { recursive: true });
    writeFileSync(join(temp.folder, "public"), `words that everybody knows ${name}\n`);
    return file;
  };
  const secretOf = (): Promise<string> | undefined => new SqliteStorage(temp.path).secret?.();

  test.each([
    ["a link to a file", (file: string) => symlinkSync(join(temp.folder, "public"), file)],
    ["a link to nothing", (file: string) => symlinkSync(join(temp.folder, "missing"), file)],
    [
      "a link to a link",
      (file: string) => {
        symlinkSync(join(temp.folder, "public"), `${file}.first`);
        symlinkSync(`${file}.first`, file);
      },
    ],
  ])("%s is no secret", async (name, plant) => {
    plant(planted(name));
    await expect((async () => secretOf())()).rejects.toMatchObject({ code: "no-secret" });
  });

  const words = "a secret that is long enough to sign";
  /** A real file of mode 0600, in a real folder. */
  const kept = (name: string): string => {
    const file = planted(name);
    writeFileSync(file, `${words}\n`, { mode: 0o600 });
    return file;
  };

  test.each([
    ["in the same folder", (file: string) => linkSync(file, `${file}.copy`)],
    ["in another folder", (file: string) => linkSync(file, join(temp.folder, "elsewhere"))],
    [
      "with a name that looks like a draft, elsewhere",
      (file: string) => linkSync(file, join(temp.folder, "journal.db.secret.1.0123abcd")),
    ],
    [
      "of a public file",
      (file: string) => {
        rmSync(file);
        chmodSync(join(temp.folder, "public"), 0o600);
        linkSync(join(temp.folder, "public"), file);
      },
    ],
  ])("a hard link %s is no secret, and the way out works", async (name, plant) => {
    const file = kept(name);
    plant(file);
    await expect((async () => secretOf())()).rejects.toMatchObject({
      code: "no-secret",
      message: expect.stringContaining("by a hard link") as string,
    });
    const text = readFileSync(file);
    rmSync(file);
    writeFileSync(file, text, { mode: 0o600 });
    expect(await secretOf()).toBe(text.toString().trim());
  });

  test("the draft of a process that died while it created the secret is no other name of it", async () => {
    const file = kept("draft");
    linkSync(file, `${file}.4711.0123abcd`);
    expect(await secretOf()).toBe(words);
  });

  test("processes that create the secret at the same moment get the same one", async () => {
    const storages = Array.from({ length: 8 }, () => new SqliteStorage(temp.path));
    const made = await Promise.all(storages.map((storage) => storage.secret()));
    await Promise.all(storages.map((storage) => storage.close()));
    expect(new Set(made).size).toBe(1);
  });

  // Only root can give a folder away.
  test.runIf(isRoot).each([
    ["a folder", (folder: string) => chownSync(folder, 12_345, 12_345)],
    [
      "a link to a folder",
      (folder: string) => {
        renameSync(folder, `${folder}-real`);
        symlinkSync(`${folder}-real`, folder);
        lchownSync(folder, 12_345, 12_345);
      },
    ],
  ])("%s of another user is refused, and only said to root", async (name, give) => {
    const file = kept(name);
    give(join(temp.folder, ".durable"));
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    for (let n = 0; n < 2; n++) expect(await secretOf()).toBe(words);
    const lines = warn.mock.calls.map(([line]) => String(line));
    warn.mockRestore();
    expect(lines.filter((line) => line.includes("in a folder of user 12345"))).toHaveLength(1);
    // The same files for somebody who is not root.
    const user = vi.spyOn(process as { getuid: () => number }, "getuid").mockReturnValue(1_000);
    chownSync(file, 1_000, 1_000);
    await expect((async () => secretOf())()).rejects.toMatchObject({
      code: "no-secret",
      message: expect.stringContaining("in a folder of user 12345") as string,
    });
    user.mockRestore();
  });

  test("a folder that others may write to is said once, unless it is sticky", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    kept("loose");
    const folder = join(temp.folder, ".durable");
    chmodSync(folder, 0o1777);
    expect(await secretOf()).toBe(words);
    expect(warn).not.toHaveBeenCalled();
    chmodSync(folder, 0o777);
    for (let n = 0; n < 2; n++) expect(await secretOf()).toBe(words);
    const lines = warn.mock.calls.map(([line]) => String(line));
    warn.mockRestore();
    expect(lines).toEqual([expect.stringMatching(/can write to ".*\.durable" \(mode 777\)\. Run chmod 700/)]);
  });

  test("a secret that others may read, and a journal that they may write to, are said once", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const file = planted("read");
    writeFileSync(file, "a secret that is long enough to sign\n", { mode: 0o644 });
    chmodSync(file, 0o644);
    chmodSync(temp.path, 0o666);
    for (let n = 0; n < 2; n++) await secretOf();
    const lines = warn.mock.calls.map(([line]) => String(line));
    warn.mockRestore();
    expect(lines.filter((line) => line.includes("can read") && line.includes("mode 644"))).toHaveLength(1);
    expect(lines.filter((line) => line.includes("can write to") && line.includes("mode 666"))).toHaveLength(
      1,
    );
  });
});
