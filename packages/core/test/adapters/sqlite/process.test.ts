import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { isDead, thisProcess } from "../../../src/adapters/sqlite/process.ts";

const parts = thisProcess.split("|");
const [boot = "", namespace = "", pid = "", start = ""] = parts;
const started: ReturnType<typeof spawn>[] = [];

afterEach(() => {
  for (const child of started.splice(0)) child.kill("SIGKILL");
});

function record(changes: {
  boot?: string;
  namespace?: string;
  pid?: string | number;
  start?: string;
}): string {
  return [
    changes.boot ?? boot,
    changes.namespace ?? namespace,
    changes.pid ?? pid,
    changes.start ?? start,
  ].join("|");
}

/** Fields 3 and 22 of stat, read here once more by other means. */
function fieldsOf(id: number): string[] {
  const stat = readFileSync(`/proc/${id}/stat`, "utf8");
  return stat.replace(/^.*\) /s, "").split(" ");
}
const stateOf = (id: number): string => fieldsOf(id)[0] ?? "";
const startOf = (id: number): string => fieldsOf(id)[19] ?? "";

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 1));
}

function sleeper(...args: string[]): ReturnType<typeof spawn> {
  const child = spawn("sh", ["-c", ...args], { stdio: ["ignore", "pipe", "ignore"] });
  started.push(child);
  return child;
}

describe.skipIf(process.platform !== "linux")("who is dead (skipped where there is no /proc)", () => {
  it("has four parts: boot, process namespace, process id, start time", () => {
    expect(parts).toHaveLength(4);
    expect(Number(pid)).toBe(process.pid);
    expect(start).toBe(startOf(process.pid));
  });

  it("not this process", () => {
    expect(isDead(thisProcess)).toBe(false);
  });

  it("a process that has gone", async () => {
    const child = sleeper("exec sleep 60");
    const recorded = record({ pid: child.pid ?? 0, start: startOf(child.pid ?? 0) });
    expect(isDead(recorded)).toBe(false);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(isDead(recorded)).toBe(true);
  });

  it("not one that is stopped", async () => {
    const child = sleeper("kill -STOP $$; exec sleep 60");
    const recorded = record({ pid: child.pid ?? 0, start: startOf(child.pid ?? 0) });
    await until(() => stateOf(child.pid ?? 0) === "T");
    expect(isDead(recorded)).toBe(false);
  });

  it("one that ended and was never collected", async () => {
    // The shell turns into a program that never asks what became of its child.
    const child = sleeper("sleep 60 & echo $!; exec sleep 60");
    const [line] = (await once(child.stdout as NodeJS.ReadableStream, "data")) as [Buffer];
    const inner = Number(line.toString());
    await until(() => readFileSync(`/proc/${child.pid}/comm`, "utf8").trim() === "sleep");
    process.kill(inner, "SIGKILL");
    await until(() => stateOf(inner) === "Z");
    expect(isDead(record({ pid: inner, start: startOf(inner) }))).toBe(true);
  });

  it("one whose process id was given to another since", () => {
    expect(isDead(record({ start: "1" }))).toBe(true);
    expect(isDead(record({ start: `${start}0` }))).toBe(true);
  });

  it("not one whose start time is not known", () => {
    expect(isDead(record({ start: "" }))).toBe(false);
  });

  it("not one of another machine, another boot or another namespace, whatever its number", () => {
    const gone = 2 ** 22 - 1;
    expect(isDead(record({ pid: gone }))).toBe(true);
    expect(isDead(record({ pid: gone, boot: "another" }))).toBe(false);
    expect(isDead(record({ pid: gone, namespace: "pid:[1]" }))).toBe(false);
    expect(isDead(record({ pid: gone, namespace: "" }))).toBe(false);
  });

  it("not what cannot be read", () => {
    for (const text of [
      "",
      "|",
      "|||",
      "x",
      "a|b|c|d",
      "null",
      `${boot}|${namespace}`,
      `${boot}|${namespace}|x|1`,
    ])
      expect([text, isDead(text)]).toEqual([text, false]);
    for (const id of ["-1", "0", "1.5", "1e400", "NaN", "", " ", "1;2", "-9"])
      expect([id, isDead(record({ pid: id, start: "1" }))]).toEqual([id, false]);
    expect(isDead(`${thisProcess}|more`)).toBe(false);
  });
});
