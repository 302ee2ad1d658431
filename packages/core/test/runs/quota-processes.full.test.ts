/** A quota over four processes, and a provider that counts for itself. */

import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import type { AddressInfo } from "node:net";
import { createApp, durable } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { expect, it, onTestFinished } from "vitest";
import { tempFolder } from "../support/sqlite-temp.ts";
import { numbered } from "../support/worker-runs.ts";

const runs = 500;
/** The quota of the processes is a little lower, because calls reach a provider at other times than they begin. */
const [limit, perMs] = [100, 2_000];
/** Seconds for which the provider asks to be left alone: long enough for two windows. */
const rest = 4;

it(
  `${runs} runs in four processes: the provider refuses at most one call in a hundred`,
  { timeout: 300_000 },
  async () => {
    const temp = tempFolder();
    onTestFinished(() => temp.remove());
    const taken: number[] = [];
    const seen = { asked: 0, refused: 0, early: 0, restUntil: 0 };
    let provoked = false;
    const server = createServer(({ url: asked = "" }, reply) => {
      const now = Date.now();
      // When the call began: a process that gets no time to send it says nothing about the quota.
      const at = Number(asked.slice(asked.indexOf("=") + 1));
      seen.asked += 1;
      if (now < seen.restUntil) seen.early += 1;
      // One that comes all the same: another user of the key was faster.
      const isProvoked = !provoked && seen.asked === 50;
      const before = taken.filter((time) => time > at - perMs && time <= at);
      if (before.length >= limit || isProvoked) {
        provoked ||= isProvoked;
        if (!isProvoked) seen.refused += 1;
        else seen.restUntil = now + 1_000 * rest;
        return void reply.writeHead(429, { "retry-after": String(rest) }).end();
      }
      taken.push(at);
      reply.end("ok");
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const storage = new SqliteStorage(temp.path);
    onTestFinished(() => storage.close());
    const flow = durable("ask", (_ctx, n: number) => n);
    const app = createApp({ workflows: [flow], storage, bind: false });
    const ids = numbered("r", runs);
    for (const [n, id] of ids.entries()) await app.start("ask", n, { id, drive: false });
    const script = new URL("../support/quota-child.ts", import.meta.url).pathname;
    const children = Array.from({ length: 4 }, (): ChildProcess => {
      const child = fork(script, [temp.path, url], { execArgv: ["--conditions=durable-source"] });
      onTestFinished(() => void child.kill("SIGKILL"));
      return child;
    });
    await Promise.all(children.map((child) => once(child, "message")));
    // Only looks, so that the runs are driven by the others alone.
    while ((await storage.list({ status: "completed", limit: 1_000 })).runs.length < runs) await delay(100);
    expect(seen.asked - seen.refused).toBe(runs + 1);
    console.log(`${runs} runs: ${seen.asked} calls, ${seen.refused} refused, ${seen.early} during the rest`);
    expect(seen.refused).toBeLessThanOrEqual(seen.asked / 100);
    // Those that had a permit when it was said. Without a rest, two more windows would be there.
    expect(seen.early, "a 429 slows all processes").toBeLessThanOrEqual(limit);
    expect(provoked).toBe(true);
  },
);
