/**
 * Drives planned runs on one file until all are over, or until it is killed: `<path> <seed> <count> <run | work>`.
 * What it begins and what it is told is durable, it says at once, before anything else is done.
 */

import { writeSync } from "node:fs";
import { systemWorld } from "@durable/core/storage";
import { virtualWorld } from "@durable/testing";
import { SqliteStorage } from "../../../../src/adapters/sqlite/index.ts";
import { appOf, driveAll, workAll } from "./drive.ts";
import { planFlow, plannedRuns } from "./plans.ts";

const [path = "", seed = "1", count = "1", how = "run"] = process.argv.slice(2);
const say = (...words: string[]): void => void writeSync(1, `${words.join(" ")}\n`);
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const storage = new SqliteStorage(path);
const ran = (runId: string, value: string): void => say("ran", runId, value);
const saw = (runId: string, value: string): void => say("saw", runId, value);
// The nonces of the calm run, because draws and keys derive from them.
const calm = virtualWorld();
const host = {
  storage,
  world: { ...systemWorld, nonce: (runId: string) => calm.nonce?.(runId) ?? "" },
  warm: 100,
};
const flow = planFlow({ ran, saw, pause }, host);
const app = appOf(flow, host);
const answered = (runId: string, value: string): void => say("answered", runId, value);
const forked = (runId: string): void => say("forked", runId);
say("up");
const drive = how === "work" ? workAll : driveAll;
await drive(plannedRuns(Number(seed), Number(count)), { flow, app, pause, answered, forked });
say("over");
await storage.close();
