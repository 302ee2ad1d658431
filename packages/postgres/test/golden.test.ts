import { globSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { createApp, MemoryStorage, type App, type Storage } from "@durable/core";
import { virtualWorld, type GoldenJournal, type VirtualWorld } from "@durable/testing";
import { describe, expect, inject, test } from "vitest";
import { goldenFlows } from "../../core/test/journal/support/golden-flows.ts";
import { goldenFlowsOfStreams } from "../../core/test/journal/support/golden-flows-streams.ts";
import { goldenFlowsOfChapters } from "../../core/test/journal/support/golden-flows-chapters.ts";
import { goldenSteered } from "../../core/test/journal/support/golden-steer.ts";
import { goldenCipher } from "../../core/test/journal/support/golden-make-streams.ts";
import { mailed } from "../../core/test/journal/support/golden-mailed.ts";
import { secret } from "../../core/test/journal/support/golden-place.ts";
import { locatorOf } from "../../core/src/journal/keys.ts";
import { loadJournal } from "../../testing/src/journal-loader.ts";
import { openHeld } from "./support/held.ts";

const folder = fileURLToPath(new URL("../../core/test/journal/golden/", import.meta.url));
const workflows = [...goldenFlows, ...goldenFlowsOfStreams, ...goldenFlowsOfChapters, ...goldenSteered];
const journalOf = (name: string): GoldenJournal =>
  JSON.parse(readFileSync(`${folder}${name}.json`, "utf8")) as GoldenJournal;
/** Every journal that has a workflow. */
const names = globSync(`${folder}*.json`)
  .map((file) => basename(file, ".json"))
  .filter((name) => journalOf(name).workflow !== "")
  .toSorted();

interface Opened {
  readonly world: VirtualWorld;
  readonly storage: Storage;
  readonly app: App;
}

async function opened(journal: GoldenJournal, onPostgres: boolean): Promise<Opened> {
  const held = { hold: (): Promise<boolean> => Promise.resolve(false) };
  const world = virtualWorld({ start: Date.UTC(2026, 0, 3), hold: () => held.hold() });
  const now = (): number => world.now();
  const postgres = onPostgres ? openHeld(now) : null;
  held.hold = postgres?.hold ?? held.hold;
  const storage = postgres?.storage ?? new MemoryStorage({ now });
  for (const one of [...(journal.ancestors ?? []), ...(journal.children ?? []), journal]) {
    const batches = one.batches.map((batch) => (typeof batch === "string" ? batch : JSON.stringify(batch)));
    const createdAt = Number(
      /"createdAt":(\d+)/.exec(batches[0] ?? "")?.[1] ?? /"at":(\d+)/.exec(batches[0] ?? "")?.[1],
    );
    await loadJournal(storage, { ...one, locator: locatorOf(one.runId), createdAt, batches });
  }
  const sealed = JSON.stringify(journal).includes('"$":"sealed"');
  const encryption = sealed ? { encryption: goldenCipher } : {};
  return {
    world,
    storage,
    app: createApp({ storage, world, secret, workflows, patience: 0, ...encryption }),
  };
}

// The server is that of inject("postgres").
describe(`H54 journals of every format, on Postgres (${new URL(inject("postgres")).hostname})`, () => {
  test("are read as they are in memory, all of them", async () => {
    expect(names.length).toBeGreaterThanOrEqual(40);
    // A sample is one in three, and those of a kind of their own.
    const some = names.filter(
      (name, n) => inject("full") || n % 3 === 0 || /sealed|^cancelled|^failed/.test(name),
    );
    for (const name of some) {
      const journal = journalOf(name);
      const outcomes: unknown[] = [];
      for (const onPostgres of [false, true]) {
        const { app, world, storage } = await opened(journal, onPostgres);
        outcomes.push(await world.run(app.get(journal.runId).outcome()));
        await storage.close?.();
      }
      expect(outcomes[1], name).toEqual(outcomes[0]);
    }
  });

  test("continue with the tokens that were mailed for them", async () => {
    for (const [name, key, token] of mailed) {
      const { app, world, storage } = await opened(journalOf(name), true);
      const value = key === "charge/uncertain" ? { status: "retry" } : { ok: true };
      const found = await world.run(app.resume(token, key.endsWith("note") ? "end" : value));
      expect(found.status, `${name} ${key}`).toBe("accepted");
      expect(await world.run(app.resume(token, value)), name).toMatchObject({ status: "duplicate" });
      await storage.close?.();
    }
  });
});
