import { DatabaseSync } from "node:sqlite";
import { SqliteStorage } from "@durable/core/sqlite";
import { afterEach, describe, expect, inject, onTestFinished, test } from "vitest";
import { Child, killChildren } from "../support/child-process.ts";
import { tempFolder } from "../support/sqlite-temp.ts";
import type { ChildOptions } from "./support/uncaught-child.ts";

interface Stop {
  readonly runId: string;
  readonly status: string;
  readonly code?: string;
  readonly message?: string;
  readonly step?: string | null;
}

afterEach(killChildren);

/** Runs the program to its end. `flags` are for Node itself. */
async function run(crimes: readonly string[], options: ChildOptions = {}, flags = "") {
  const { path, remove } = tempFolder();
  onTestFinished(remove);
  const child = new Child("uncaught-child.ts", [path, JSON.stringify(crimes), JSON.stringify(options)], {
    env: { NODE_OPTIONS: flags },
  });
  const { code } = await child.exit;
  const said = child.lines.map((line) => JSON.parse(line) as unknown);
  const stops = said.filter((line): line is Stop => typeof line === "object" && "runId" in (line as Stop));
  const statuses = Object.fromEntries(stops.map(({ runId, status }) => [runId, status]));
  return { path, code, stops, statuses, said, text: child.said };
}

const good = { "good-0": "completed", "good-1": "completed", "good-2": "completed" };

const inCode = ["early-await", "late-in-parallel", "body-microtask", "body-timer", "race-abort-listener"];
const inSteps = [
  "step-timer",
  "step-microtask",
  "step-floating",
  "step-abort-listener",
  "stream-floating",
  "stream-signal",
];

describe("an error of a run's code that nothing caught", () => {
  test("blocks that run alone, with its reason; the others complete and the process lives", async () => {
    const { code, stops, statuses, said, text } = await run([...inCode, ...inSteps]);
    const blocked = Object.fromEntries([...inCode, ...inSteps].map((name) => [name, "blocked"]));
    expect(statuses, text).toEqual({ ...good, ...blocked });
    expect(code).toBe(0);
    expect(said.at(-1), "the program itself heard of no rejection").toEqual({ heard: 0 });
    for (const { runId, status, code: why, message, step } of stops) {
      if (status !== "blocked") continue;
      expect(why, runId).toBe("unhandled-rejection");
      expect(message, "the reason is named").toContain(`Error: ${runId}.`);
      expect(step, runId).toBe(inSteps.includes(runId) ? "crime" : null);
    }
  });

  test("is a warning when the run was cancelled in the meantime", async () => {
    const { code, statuses, text } = await run(["cancel-listener"]);
    expect(statuses, text).toEqual({ ...good, "cancel-listener": "cancelled" });
    expect(code).toBe(0);
    expect(text).toMatch(/^durable: Run cancel-listener cannot continue: .*Error: cancel-listener/m);
  });

  test("is also given to the listeners of the program", async () => {
    const { code, statuses, said, text } = await run(["step-floating"], { listens: true });
    expect(statuses, text).toEqual({ ...good, "step-floating": "blocked" });
    expect(code).toBe(0);
    expect(said.at(-1)).toEqual({ heard: 1 });
  });
});

describe("an error outside of runs", () => {
  test.each(["rejection", "exception"] as const)(
    "(%s) ends the process as ever, after its runs are handed on",
    async (foreign) => {
      const { path, code, stops, text } = await run([], { foreign, ms: 60_000 });
      expect(stops, text).toEqual([]);
      expect(code).toBe(1);
      expect(text).toContain("Error: foreign");
      const database = new DatabaseSync(path, { readOnly: true });
      const owners = database.prepare("SELECT owner FROM runs").all();
      expect(owners.map(({ owner }) => owner)).toEqual([null, null, null]);
      database.close();
      const storage = new SqliteStorage(path);
      onTestFinished(() => storage.close());
      const { runs } = await storage.list({ dueAt: Date.now() });
      expect(runs.map(({ runId }) => runId).toSorted(), "due at once").toEqual(Object.keys(good));
      for (const { locator } of runs)
        expect(await storage.lease(locator, "next", 1_000)).toMatchObject({ starts: 1 });
    },
  );

  test("reaches a listener of the program, which goes on", async () => {
    const { code, statuses, said, text } = await run([], { foreign: "rejection", listens: true, ms: 500 });
    expect(statuses, text).toEqual(good);
    expect(code).toBe(0);
    expect(said.at(-1)).toEqual({ heard: 1 });
  });

  test.runIf(inject("full")).each(["warn", "none"])(
    "with --unhandled-rejections=%s does not end the process",
    async (mode) => {
      const options = { foreign: "rejection", ms: 500 } as const;
      const { code, statuses, text } = await run(
        ["step-floating"],
        options,
        `--unhandled-rejections=${mode}`,
      );
      expect(statuses, text).toEqual({ ...good, "step-floating": "blocked" });
      expect(code).toBe(0);
      expect(text.includes("UnhandledPromiseRejectionWarning: Error: foreign")).toBe(mode === "warn");
    },
  );

  test("with --unhandled-rejections=strict ends it, and an error of a run does not", async () => {
    const strict = "--unhandled-rejections=strict";
    const owned = await run(["step-floating"], {}, strict);
    expect(owned.statuses, owned.text).toEqual({ ...good, "step-floating": "blocked" });
    expect(owned.code).toBe(0);
    const foreign = await run([], { foreign: "rejection", ms: 60_000 }, strict);
    expect(foreign.code, foreign.text).toBe(1);
    expect(foreign.text).toContain("Error: foreign");
  });
});
