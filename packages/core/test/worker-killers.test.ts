import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { systemWorld } from "../src/storage.ts";
import type { App } from "../src/index.ts";
import { SqliteStorage } from "../src/adapters/sqlite/index.ts";
import { tempFolder, type TempFolder } from "./support/sqlite-temp.ts";
import { effectsIn, workerApp } from "./support/worker-flows.ts";
import { WorkerProcess } from "./support/worker-process.ts";
import { numbered, record, statuses } from "./support/worker-runs.ts";

let temp: TempFolder;
let storage: SqliteStorage;
let app: App;

beforeEach(() => {
  temp = tempFolder();
  storage = new SqliteStorage(temp.path);
  app = workerApp(storage, { worker: "test", effects: join(temp.folder, "effects") });
});
afterEach(async () => {
  await storage.close();
  temp.remove();
});

const effects = (): string[] => effectsIn(join(temp.folder, "effects")).map(({ run }) => run);

/** How a process ends whose body never gives the event loop back, and how it comes to that. */
const killers = {
  oom: { flags: ["--max-old-space-size=48"], signal: "SIGABRT" },
  spin: { flags: [], signal: "SIGKILL" },
} as const;

describe("a run whose body takes its process along (H58)", () => {
  // One of them here, both in `npm run test:full`.
  it.each(Object.entries(killers).slice(inject("full") ? 0 : 1))(
    "by %s is left alone after two starts, with the reason, and its neighbours finish",
    async (how, { flags, signal }) => {
      const neighbours = numbered("r", 3);
      await record({ storage, world: systemWorld }, "bad", { workflow: "deadly", input: how });
      const begin = (worker: string): WorkerProcess => {
        const doing = { worker, effects: join(temp.folder, "effects"), longMs: 1 };
        return new WorkerProcess(temp.path, doing, { maxStarts: 2, interval: 20 }, flags);
      };
      for (let life = 1; life <= 2; life++) {
        const worker = begin(`life ${life}`);
        while (effects().filter((run) => run === "bad").length < life)
          await new Promise((resolve) => setTimeout(resolve, 10));
        // A loop that never yields can only be ended from outside the process.
        if (signal === "SIGKILL") worker.signal("SIGKILL");
        expect(await worker.exit).toEqual({ code: null, signal });
      }
      for (const id of neighbours) await record({ storage, world: systemWorld }, id, { workflow: "job" });
      const last = begin("last");
      await last.until(() => last.stops("blocked") === 1 && last.stops("completed") === neighbours.length);
      expect(last.complaints).toEqual([expect.stringMatching(/run bad .* times without progress/)]);
      expect(
        effects().filter((run) => run === "bad"),
        "its body was not begun again",
      ).toHaveLength(2);
      expect(await statuses(storage)).toEqual({ completed: neighbours.length, blocked: 1 });
      expect((await app.get("bad").entries()).map(({ kind }) => kind)).toEqual(["run.started"]);
      last.signal("SIGTERM");
      expect(await last.exit, "the engine itself ends no process").toEqual({ code: 0, signal: null });
    },
  );
});
