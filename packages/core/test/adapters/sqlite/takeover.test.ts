import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { createApp } from "../../../src/index.ts";
import { SqliteStorage } from "../../../src/adapters/sqlite/index.ts";
import { Child, killChildren, type ChildOptions } from "../../support/child-process.ts";
import { takenRun, takeoverFlow, type Place } from "./support/flow.ts";
import { tempFolder, type TempFolder } from "../../support/sqlite-temp.ts";

let temp: TempFolder;
let storage: SqliteStorage;
let go: string;

beforeEach(() => {
  temp = tempFolder();
  storage = new SqliteStorage(temp.path);
  go = join(temp.folder, "go");
});
afterEach(async () => {
  await killChildren();
  await storage.close();
  temp.remove();
});

interface Driver extends ChildOptions {
  readonly name: string;
  readonly place?: Place;
  readonly how?: "run" | "result";
  readonly lease?: string;
  readonly sleepMs?: number;
}

function drive({
  name,
  place = "nowhere",
  how = "run",
  lease = "30s",
  sleepMs = 1,
  ...options
}: Driver): Child {
  return new Child(
    "sqlite-child-flow.ts",
    [temp.path, go, name, place, how, lease, String(sleepMs)],
    options,
  );
}

async function outcomeOf(child: Child): Promise<{ status: string; output?: string[] }> {
  const outcome = JSON.parse(await child.line("outcome")) as { status: string };
  await child.done();
  return outcome;
}

function ran(child: Child): string[] {
  return child.lines.filter((line) => line.startsWith("ran ")).map((line) => line.slice(4));
}

/** The whole journal as it lies in the file. */
async function journal(): Promise<string> {
  const [head] = (await storage.list()).runs;
  return JSON.stringify([head, head && (await storage.read(head.locator))]);
}

/** Every key that settled, once for each record of it. */
async function settledKeys(): Promise<string[]> {
  const entries = await takeoverFlow("test", "nowhere", { storage, go }).get(takenRun).entries();
  return entries.flatMap((entry) =>
    "key" in entry && /completed|failed|fired/.test(entry.kind) ? [entry.key] : [],
  );
}

/** Each place is some processes: one here, all in `npm run test:full`. */
const full = inject("full");

describe("a driver that is frozen past its lease (H21, H23)", () => {
  // On waking it must not take in what the other wrote and then write after it, nor believe a lease that
  // comes back with a longer journal.
  const holds = [
    { place: "step", byFirst: ["first", "slow"], bySecond: ["slow", "last"] },
    { place: "between", byFirst: ["first"], bySecond: ["slow", "last"] },
    { place: "end", byFirst: ["first", "slow", "last"], bySecond: [] },
  ] as const;
  it.each(full ? holds : holds.slice(0, 1))(
    "writes nothing when it wakes: held at $place",
    async ({ place, byFirst, bySecond }) => {
      const first = drive({ name: "A", place, lease: "300ms" });
      await first.line("held");
      first.signal("SIGSTOP");
      const second = drive({ name: "B", how: "result", lease: "300ms" });
      const theirs = await outcomeOf(second);
      const before = await journal();

      writeFileSync(go, "");
      first.signal("SIGCONT");
      const its = await outcomeOf(first);

      expect(await journal(), "all its late writes were refused").toBe(before);
      expect(its).toMatchObject({ status: "completed", output: theirs.output });
      expect(theirs.output?.at(-1)).toBe("end by B");
      expect(ran(second), "finished steps were not run again").toEqual(bySecond);
      expect(ran(first), "no body starts on a lease that ended").toEqual(byFirst);
      expect(await settledKeys()).toEqual(["first", "slow", "sleep", "last"]);
    },
  );

  it("writes nothing when its timer fires late", async () => {
    const first = drive({ name: "A", lease: "300ms", sleepMs: 1_000 });
    await first.line("ran slow");
    const [head] = (await storage.list()).runs;
    // Frozen once its sleep is recorded, and not before.
    await storage.changed(head?.locator ?? "", 3, new AbortController().signal);
    first.signal("SIGSTOP");
    const second = drive({ name: "B", how: "result", lease: "300ms" });
    const theirs = await outcomeOf(second);
    const before = await journal();
    first.signal("SIGCONT");
    expect(await outcomeOf(first)).toMatchObject({ output: theirs.output });
    expect(await journal()).toBe(before);
    expect(await settledKeys()).toEqual(["first", "slow", "sleep", "last"]);
  });

  it("goes on by itself when nobody took over", async () => {
    const first = drive({ name: "A", place: "step", lease: "100ms" });
    await first.line("held");
    first.signal("SIGSTOP");
    await new Promise((resolve) => setTimeout(resolve, 250));
    writeFileSync(go, "");
    first.signal("SIGCONT");
    expect(await outcomeOf(first)).toMatchObject({ status: "completed" });
    expect(ran(first)).toEqual(["first", "slow", "last"]);
  });

  it("is not taken for dead: it lives, and its lease holds", async () => {
    const first = drive({ name: "A", place: "step" });
    await first.line("held");
    first.signal("SIGSTOP");
    const before = await journal();
    expect(await outcomeOf(drive({ name: "B" }))).toMatchObject({ status: "running" });
    expect((await storage.list({ dueAt: Date.now() + 60_000 })).runs, "nor is it due").toEqual([]);
    expect(await journal()).toBe(before);
    writeFileSync(go, "");
    first.signal("SIGCONT");
    expect((await outcomeOf(first)).output?.at(-1)).toBe("end by A");
  });
});

describe("a driver that died on this host, with 30 s left on its lease", () => {
  const places = ["step", "between", "end"] as const;
  it.each(full ? places : places.slice(1, 2))("is taken over at once: killed at %s", async (place) => {
    const first = drive({ name: "A", place });
    await first.line("held");
    await first.kill();
    const second = drive({ name: "B" });
    const outcome = await outcomeOf(second);
    expect(outcome).toMatchObject({ status: "completed" });
    expect(outcome.output).toContain("end by B");
    const finished = { step: ["first"], between: ["first"], end: ["first", "slow", "last"] }[place];
    expect(ran(second), "finished steps are not run again").toEqual(
      ["first", "slow", "last"].filter((key) => !finished.includes(key)),
    );
    expect(await settledKeys()).toEqual(["first", "slow", "sleep", "last"]);
  });

  it("is found by a sweep at once", async () => {
    const first = drive({ name: "A", place: "step" });
    await first.line("held");
    const flow = takeoverFlow("sweeper", "nowhere", { storage, go });
    const app = createApp({ storage, workflows: [flow], bind: false });
    expect(await app.sweep(), "while it lives").toMatchObject({ outcomes: [], failed: [], unknown: [] });
    await first.kill();
    const { outcomes } = await app.sweep();
    expect(outcomes).toMatchObject([{ status: "completed", runId: takenRun }]);
  });

  const elsewhere = ["unshare", "--map-root-user", "--pid", "--fork", "--mount-proc"];
  const canLeave = spawnSync(elsewhere[0] as string, [...elsewhere.slice(1), "true"]).status === 0;
  it.skipIf(!canLeave)(
    "is believed by another process namespace, which cannot see it (skipped where none can be made)",
    async () => {
      const first = drive({ name: "A", place: "step" });
      await first.line("held");
      await first.kill();
      expect(await outcomeOf(drive({ name: "B", under: elsewhere }))).toMatchObject({ status: "running" });
      expect(await outcomeOf(drive({ name: "C" }))).toMatchObject({ status: "completed" });
    },
  );
});
