import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { leaksIn } from "../support/canary-flow.ts";
import { tempFolder } from "../support/sqlite-temp.ts";

const program = fileURLToPath(new URL("./support/canary-child.ts", import.meta.url));
/** With characters that JSON, addresses and base64 spell otherwise. */
const canary = 'sk-Canary/9f2c+7e51 "d0ä8"\\b36';

function lifeOf(how: "told" | "killed" | "crashed", path: string) {
  const { stdout, stderr, signal, status } = spawnSync(
    process.execPath,
    ["--conditions=durable-source", program, path, how],
    { env: { ...process.env, CANARY: canary }, encoding: "utf8", timeout: 25_000 },
  );
  return { said: `${stdout}\n${stderr}`, signal, status };
}

/** Files by name, as they lie there. */
function filesIn(folder: string): Map<string, Buffer> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  return new Map(files.map(({ parentPath, name }) => [name, readFileSync(join(parentPath, name))]));
}

describe("H67 a process that puts a secret everywhere", () => {
  const expectNone = (folder: string, said: string): void => {
    for (const [name, bytes] of filesIn(folder)) expect(leaksIn(bytes, canary), name).toEqual([]);
    expect(leaksIn(said, canary)).toEqual([]);
    expect(said).toContain("[secret API_KEY]");
  };

  test("dies of SIGKILL, and its log and file have none of it; another comes to the end, and has none of it", () => {
    const temp = tempFolder();
    onTestFinished(temp.remove);
    const first = lifeOf("killed", temp.path);
    expect(first.signal).toBe("SIGKILL");
    const wal = filesIn(temp.folder).get("journal.db-wal");
    expect(wal?.includes("[secret API_KEY]")).toBe(true);
    for (const [name, bytes] of filesIn(temp.folder)) expect(leaksIn(bytes, canary), name).toEqual([]);
    const second = lifeOf("crashed", temp.path);
    expect(second.said).toContain("over");
    expect([second.signal, second.status]).toEqual([null, 1]);
    // Node printed the error with its causes.
    expect(second.said).toMatch(/DurableError: Run r failed: .*\[cause\]/s);
    expectNone(temp.folder, second.said);
  });

  test("the search finds what was never told to be a secret", () => {
    expect(leaksIn(`x ${canary} y`, canary).length).toBeGreaterThan(10);
    expect(leaksIn(Buffer.from(canary), canary).length).toBeGreaterThan(10);
    expect(leaksIn(JSON.stringify(canary), canary).length).toBeGreaterThan(10);
    for (const before of ["", "a", "ab", "user:"])
      expect(leaksIn(Buffer.from(before + canary).toString("base64url"), canary)).not.toEqual([]);
  });
});
