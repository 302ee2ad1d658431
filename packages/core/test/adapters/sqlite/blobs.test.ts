import { readFileSync, statSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { errorCodes } from "../../../src/values/errors.ts";
import { DurableError, MemoryStorage } from "../../../src/index.ts";
import { SqliteStorage } from "../../../src/adapters/sqlite/index.ts";
import type { AppendRequest, NamedBlob, Storage } from "../../../src/ports/storage.ts";
import { damage } from "./support/damage.ts";
import { headOf, request, seeded } from "./support/samples.ts";
import { memoryFolder, tempFolder, type TempFolder } from "../../support/sqlite-temp.ts";

let temp: TempFolder;
let storage: SqliteStorage;

beforeEach(() => {
  temp = tempFolder();
});
afterEach(async () => {
  await storage.close();
  temp.remove();
});

function naming(locator: string, position: number, ...blobs: NamedBlob[]): AppendRequest {
  return { ...request(locator, position), blobs };
}

/** What happens to a file behind the back of the library. */
function tamper(text: string): void {
  const other = new DatabaseSync(temp.path);
  other.exec(text);
  other.close();
}

/** What the file itself has, read without our code. */
function counts(): unknown {
  const other = new DatabaseSync(temp.path, { readOnly: true });
  const found = other
    .prepare("SELECT (SELECT count(*) FROM blobs) AS blobs, (SELECT count(*) FROM named) AS named")
    .get();
  other.close();
  return found;
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return "none";
  } catch (error) {
    return DurableError.is(error) ? error.code : String(error);
  }
}

describe("a blob that is not what was written is corrupt (H12)", () => {
  beforeEach(async () => {
    storage = new SqliteStorage(temp.path);
    await storage.append(naming("one", 0, { name: "a", body: "body of a" }));
    await storage.append(naming("one", 1, { name: "b", body: "body of b" }));
    await storage.append(request("one", 2));
    await storage.append(naming("two", 0, { name: "c", body: "body of c" }));
  });

  const exchange = "UPDATE blobs SET (body, sum) = (SELECT body, sum FROM blobs WHERE name = 'a')";
  it.each([
    ["changed in one bit", "UPDATE blobs SET body = 'body of c' WHERE name = 'b'"],
    ["cut", "UPDATE blobs SET body = 'body of' WHERE name = 'b'"],
    ["followed by zeros", "UPDATE blobs SET body = body || char(0) WHERE name = 'b'"],
    ["another's", `${exchange} WHERE name = 'b'`],
    ["under another's name", "UPDATE blobs SET name = 'd' WHERE name = 'b'"],
    ["missing", "DELETE FROM blobs WHERE name = 'b'"],
    ["with another sum", "UPDATE blobs SET sum = sum + 1 WHERE name = 'b'"],
    ["known under another name to its run", "UPDATE named SET name = 'd' WHERE name = 'b'"],
    ["another's to its run", "UPDATE named SET name = 'c' WHERE name = 'b'"],
    ["not known to its run", "DROP TRIGGER blobs_unnamed; DELETE FROM named WHERE name = 'b'"],
    ["named by another batch", "UPDATE named SET position = 2 WHERE name = 'b'"],
    ["named by another run", "UPDATE named SET locator = 'two' WHERE name = 'b'"],
  ])("one that is %s", async (_what, text) => {
    tamper(text);
    expect(await codeOf(storage.read("one"))).toBe("corrupt");
    expect(await codeOf(storage.read("one", 1))).toBe("corrupt");
    await expect(storage.read("one")).rejects.toThrow(
      /(blob|batch) \w of the journal one (is missing|differs from what was written)\. Restore it from a backup/,
    );
  });

  it("while those who do not need it read on", async () => {
    tamper("DELETE FROM blobs WHERE name = 'b'");
    await expect(storage.read("one")).rejects.toThrow("blob b of the journal one is missing");
    expect(await storage.read("one", 2)).toMatchObject({ batches: ["one 2"] });
    expect(await storage.read("two")).toMatchObject({ blobs: { c: "body of c" } });
    await storage.append(naming("two", 1, { name: "b", body: "body of b" }));
    expect(await storage.read("one"), "whoever brings it again mends it").toMatchObject({
      blobs: { a: "body of a", b: "body of b" },
    });
  });
});

/** For each run: whole, none of it, the code of an error, or what should not be. */
async function readImage(
  path: string,
  runs: readonly string[],
  bodies: ReadonlyMap<string, string>,
): Promise<string[]> {
  let opened: SqliteStorage;
  try {
    opened = new SqliteStorage(path);
  } catch (error) {
    return [(error as DurableError).code];
  }
  const found: string[] = [];
  for (const run of runs)
    try {
      const { blobs = {}, length } = await opened.read(run);
      const all = Object.entries(blobs);
      const isWhole = all.length === length && all.every(([name, body]) => bodies.get(name) === body);
      found.push(isWhole ? (length === 0 ? "none" : "whole") : `${run} with ${Object.keys(blobs).join()}`);
    } catch (error) {
      found.push((error as DurableError).code);
    }
  await opened.close();
  return found;
}

it("no image of a damaged file gives a batch without its blobs (H12)", { timeout: 300_000 }, async () => {
  storage = new SqliteStorage(temp.path);
  const bodies = new Map<string, string>();
  const runs = Array.from({ length: 12 }, (_, n) => `run-${n}`);
  const random = seeded(77);
  for (const run of runs)
    for (let position = 0; position < 6; position++) {
      const name = `blob ${run} ${position}`;
      const body = `${name} ${"ü".repeat(Math.floor(random() ** 3 * 6_000))}`;
      bodies.set(name, body);
      await storage.append(naming(run, position, { name, body }));
    }
  await storage.close();
  const whole = readFileSync(temp.path);
  const image = tempFolder(memoryFolder);
  const gave = new Map<string, number>();
  const images = inject("full") ? 400 : 40;
  for (let n = 0; n < images; n++) {
    writeFileSync(image.path, damage(whole, whole.length, random));
    for (const result of await readImage(image.path, runs, bodies))
      gave.set(result, (gave.get(result) ?? 0) + 1);
  }
  image.remove();
  const expected: readonly string[] = ["whole", "none", ...errorCodes];
  expect([...gave.keys()].filter((result) => !expected.includes(result))).toEqual([]);
  expect(gave.get("whole")).toBeGreaterThan(2.5 * images);
  expect(gave.get("corrupt")).toBeGreaterThan(images / 4);
});

describe("a blob is kept once, and as long as it is named", () => {
  beforeEach(() => {
    storage = new SqliteStorage(temp.path);
  });

  it("a body that is known is not written again", async () => {
    const body = "x".repeat(2 ** 20);
    for (let n = 0; n < 30; n++) await storage.append(naming(`run${n}`, 0, { name: "large", body }));
    expect(statSync(temp.path).size + statSync(`${temp.path}-wal`).size).toBeLessThan(4 * 2 ** 20);
    expect(counts()).toEqual({ blobs: 1, named: 30 });
  });

  it("nothing is left of blobs when all runs have gone", async () => {
    for (let n = 0; n < 5; n++) {
      const ancestors = Array.from({ length: n }, (_, parent) => `run${parent}`);
      await storage.append({
        ...naming(`run${n}`, 0, { name: "shared", body: "shared" }, { name: `own${n}`, body: "" }),
        head: headOf(`run${n}`, { ancestors }),
      });
    }
    for (let n = 0; n < 4; n++) await storage.delete(`run${n}`);
    expect(counts(), "a fork reads them all").toEqual({ blobs: 6, named: 10 });
    await storage.delete("run4");
    expect(counts()).toEqual({ blobs: 0, named: 0 });
  });

  it("a write that fails by its own fault takes its blobs back, and leaves those of others", async () => {
    const good = storage.append(naming("good", 0, { name: "b", body: "b" }));
    const bad = {
      ...naming("bad", 0, { name: "a", body: "a" }),
      batch: Symbol("no text") as unknown as string,
    };
    expect(await codeOf(storage.append(bad))).toBe("storage-failed");
    await good;
    expect(counts()).toEqual({ blobs: 1, named: 1 });
    expect(await storage.read("good")).toMatchObject({ blobs: { b: "b" } });
  });
});

/** Appends, reads and deletions of runs that name a few blobs over and over, made up from a seed. */
async function trace(seed: number, subject: Storage): Promise<string[]> {
  const random = seeded(seed);
  const pick = (count: number): number => Math.floor(random() * count);
  const ancestors = new Map<string, string[]>();
  const chapters = new Map<string, number>();
  const blob = (run: string): NamedBlob => {
    const name = `blob${pick(6)}`;
    return random() < 0.6 ? { name, body: `${name} by ${run}` } : { name };
  };
  const act = (run: string, length: number): Promise<unknown> => {
    const kind = random();
    if (kind > 0.9) return subject.delete(run);
    if (kind > 0.8) return subject.dropChapters?.(run, pick(5)) ?? Promise.resolve();
    if (kind > 0.7) return subject.readChapter?.(run) ?? Promise.resolve();
    if (kind > 0.6) return subject.read(run, pick(4));
    const blobs = Array.from({ length: pick(4) }, () => blob(run));
    const parents = random() < 0.3 ? [`run${pick(5)}`] : [];
    // What a run reads is said when it begins, and stays.
    if (length === 0)
      ancestors.set(
        run,
        parents.filter((parent) => parent !== run),
      );
    if (length === 0) chapters.delete(run);
    else if (random() < 0.3) chapters.set(run, length);
    const chapter = chapters.get(run);
    const head = headOf(run, {
      ancestors: ancestors.get(run) ?? [],
      ...(chapter !== undefined && { chapter }),
    });
    return subject.append({ ...naming(run, random() < 0.9 ? length : pick(4), ...blobs), head });
  };
  const replies: string[] = [];
  for (let n = 0; n < 80; n++) {
    const run = `run${pick(5)}`;
    const { length } = await subject.read(run);
    replies.push(await textOf(act(run, length)), await textOf(subject.read(run)));
  }
  return replies;
}

/** What a call gave, as a text that can be compared; blobs and the fields of a head come in any order. */
async function textOf(call: Promise<unknown>): Promise<string> {
  try {
    const { blobs = {}, head = {}, ...rest } = ((await call) ?? {}) as Record<string, object>;
    const fields = (of: object): unknown => Object.entries(of).toSorted(([a], [b]) => (a < b ? -1 : 1));
    return JSON.stringify([rest, fields(head), fields(blobs)]);
  } catch (error) {
    return DurableError.is(error) ? `${error.code} ${JSON.stringify(error.details)}` : String(error);
  }
}

it("SqliteStorage keeps blobs like MemoryStorage, over random traces", { timeout: 300_000 }, async () => {
  const seen = new Set<string>();
  for (let seed = 1; seed <= (inject("full") ? 150 : 10); seed++) {
    const place = tempFolder(memoryFolder);
    storage = new SqliteStorage(place.path);
    const [expected, found] = [await trace(seed, new MemoryStorage()), await trace(seed, storage)];
    expect(found, `seed ${seed}`).toEqual(expected);
    await storage.close();
    place.remove();
    for (const text of found) seen.add(text.split(" ")[0] ?? "");
  }
  expect([...seen]).toEqual(expect.arrayContaining(["conflict", "storage-failed", "invalid-options"]));
});
