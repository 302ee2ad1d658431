import { readFileSync } from "node:fs";
import { createApp } from "@durable/core";
import { virtualWorld, type GoldenJournal } from "@durable/testing";
import { expect, test } from "vitest";
import { goldenFlows } from "./support/golden-flows-format-1.ts";
import { goldenFlows2 } from "./support/golden-flows-format-2.ts";
import { goldenFlows3 } from "./support/golden-flows-format-3.ts";
import { loadGolden } from "./support/golden-load.ts";
import { secret } from "./support/golden-place.ts";
import { tokenOf } from "../support/behaviour-lab.ts";

const workflows = [...goldenFlows, ...goldenFlows2, ...goldenFlows3];

async function opened(name: string) {
  const file = new URL(`./golden/${name}.json`, import.meta.url);
  const journal = JSON.parse(readFileSync(file, "utf8")) as GoldenJournal;
  const world = virtualWorld({ start: Date.UTC(2026, 0, 3) });
  const storage = await loadGolden(journal, () => world.now());
  return { world, runId: journal.runId, app: createApp({ storage, world, secret, workflows }) };
}
/** Tokens as they were mailed when the journals were made: a build that derives another one loses their answers. */
const mailed = [
  [
    "parked-in-branches",
    "parallel[credit]/credit",
    "a3s6n67klek736jntismgxzowzugj5cqd55earmfcnfb5ihdf7v6u3w",
  ],
  [
    "forked-parked",
    "parallel[appraisal]/appraisal",
    "amajg2kgeu6v264nugukyxtgm7oaow4e6iicaaq5yqiv22emqpdv5in",
  ],
  [
    "parked-in-children",
    "teacher/map[shy]/pupil/ask",
    "anmy6kf456xeusjrvqhudhhqzztbegvsaasfrojvmkctikfplxp3r2w",
  ],
  ["parked-in-doubt", "charge/uncertain", "aoqj2fvdg5s5rbbxtye2huezlszvffahrnfftj2uemrrvavdsvenzu3"],
  ["nonce-parked", "parallel[visa]/visa", "avv7ax6hwrgcwajupiasvbkfwm7ok5dm3xoaiz2j2djbdoishn6x4ik"],
  ["nonce-parked", "parallel[porter]/porter/ask", "axt2m3nzjeivydymuhil4dcfmpxt6vqftracbpgw73bc35kfebhquly"],
  ["nonce-forked", "rate", "agplkl3s352amfjpdxvaqm4suerd72mhlrwlc55e23zo524vcgf2usj"],
  ["chapter-3-parked", "note", "ajuiskya66pf4safklluvw4zawbaw2p4cyp5jnu3owein7txyq5m6fl"],
  ["a-continued-child", "note", "aym4oq6dkmelpgyzzni4khg2hprcck2aroka3etm5elru56wtqvsdsf"],
  ["parked-in-a-continued-child", "logbook/note", "auytmf3mhgncz4tbro2yz7kh36jqo7zhhcb3w2n7w6o4neo2h3s3zit"],
  ["line-with-an-anchor", "more#19", "a7dxzl2wfm2llplogjj3lzgvgsl7moxgqjubyc24ftaolxmpgovzsbo"],
] as const;

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
  expect(await book.world.run(book.app.resume(mailed[7][2], "on"))).toEqual({ status: "unknown" });

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
