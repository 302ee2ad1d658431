import { readFileSync } from "node:fs";
import { createApp } from "@durable/core";
import { virtualWorld, type GoldenJournal } from "@durable/testing";
import { expect, test } from "vitest";
import { goldenFlows } from "./support/golden-flows.ts";
import { goldenFlowsOfStreams } from "./support/golden-flows-streams.ts";
import { goldenFlowsOfChapters } from "./support/golden-flows-chapters.ts";
import { goldenSteered } from "./support/golden-steer.ts";
import { loadGolden } from "./support/golden-load.ts";
import { mailed } from "./support/golden-mailed.ts";
import { secret } from "./support/golden-place.ts";
import { tokenOf } from "../support/behaviour-lab.ts";

const workflows = [...goldenFlows, ...goldenFlowsOfStreams, ...goldenFlowsOfChapters, ...goldenSteered];

async function opened(name: string) {
  const file = new URL(`./golden/${name}.json`, import.meta.url);
  const journal = JSON.parse(readFileSync(file, "utf8")) as GoldenJournal;
  const world = virtualWorld({ start: Date.UTC(2026, 0, 3) });
  const storage = await loadGolden(journal, () => world.now());
  return { world, runId: journal.runId, app: createApp({ storage, world, secret, workflows }) };
}

test.each(mailed)("H54 %s: the token of %s is what it was, and answers it", async (name, key, token) => {
  const { world, app, runId } = await opened(name);
  expect(tokenOf(await app.get(runId).outcome(), key)).toBe(token);
  const value = key === "charge/uncertain" ? { status: "retry" } : { ok: true };
  const found = await world.run(app.resume(token, key.endsWith("note") ? "end" : value));
  expect(found.status).toBe("accepted");
  expect(await world.run(app.resume(token, value))).toMatchObject({ status: "duplicate" });
});

test("H54 a run that waits in its third chapter goes on in its fourth, and a fork of 18 forks in its next round", async () => {
  const book = await opened("chapter-3-parked");
  const next = await book.world.run(book.app.resume(mailed[7][2], "on"));
  expect(next.outcome).toMatchObject({ status: "suspended", waiting: [{ key: "note" }] });
  const ended = await book.world.run(book.app.resume(tokenOf(next.outcome!, "note"), "end"));
  const notes = ["note of day 1", "note of day 2", "on"];
  expect(ended.outcome).toMatchObject({
    status: "completed",
    output: { day: 4, notes },
    unawaited: ["lost"],
  });
  expect(await book.world.run(book.app.resume(mailed[7][2], "on"))).toEqual({
    status: "unknown",
    repeated: false,
  });

  const line = await opened("line-with-an-anchor");
  const over = await line.world.run(line.app.resume(mailed[10][2], "end"));
  const forks = Array.from({ length: 18 }, (_, n) => [n + 1, `fork ${n + 1}`]);
  expect(over.outcome).toMatchObject({ status: "completed", output: [...forks.flat(), 19, "end"] });
});

test.each(["ended", "failed"])("H54 a run that %s with leftovers says which", async (how) => {
  const { app, runId } = await opened(`${how}-with-leftovers`);
  expect(await app.get(runId).outcome()).toMatchObject({
    status: how === "ended" ? "completed" : "failed",
    abandoned: ["slow", "talk", "porter"],
    unawaited: ["bad"],
  });
});
