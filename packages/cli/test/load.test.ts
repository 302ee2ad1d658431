/** `durable limits` and `durable workers`, beside a process that has both. */

import { join } from "node:path";
import { createApp, createWorker, durable } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { expect, onTestFinished, test } from "vitest";
import { Project } from "./support/lab.ts";

test("limits and workers are shown to people and machines", async () => {
  const project = new Project();
  const storage = new SqliteStorage(join(project.folder, "load.db"));
  let finish = (): void => {};
  const held = new Promise<void>((resolve) => (finish = resolve));
  const mail = durable("mail", (ctx, _to: string) => ctx.step("send", () => held, { quota: "smtp" }), {
    concurrency: { max: 1, key: (to) => to },
  });
  const app = createApp({ storage, workflows: [mail], quotas: { smtp: { requests: 100 } } });
  const store = ["-s", "load.db"];
  const cli = (...args: string[]) => project.cli([...args, ...store], { now: Date.now() });
  const json = (...args: string[]) => project.json([...args, ...store], { now: Date.now() });
  const worker = createWorker(app, { name: "post-office", concurrency: 4 });
  onTestFinished(async () => {
    finish();
    await Promise.all(["m1", "m2"].map((id) => app.get(id).result()));
    await worker.stop();
    await storage.close();
    project.remove();
  });
  expect((await cli("limits")).out).toBe(
    "No run has a slot or waits for one, and no rate or limit is in use.\n",
  );
  await app.start("mail", "ada", { id: "m1" });
  await app.start("mail", "ada", { id: "m2" });
  const hasBegun = async (): Promise<boolean> =>
    ((await json("limits"))["windows"] as unknown[]).length > 0 &&
    ((await json("workers"))["workers"] as unknown[]).length > 0;
  while (!(await hasBegun())) await new Promise((resolve) => setTimeout(resolve, 10));

  expect(await json("limits")).toMatchObject({
    v: 1,
    slots: [{ workflow: "mail", slot: "ada", taken: 1, waiting: 1 }],
    windows: [{ kind: "quota", name: "smtp", used: 1, tokens: 0, calls: 0 }],
  });
  const limits = await cli("limits");
  expect(limits.code).toBe(0);
  expect(limits.out).toMatch(/WORKFLOW\s+KEY\s+TAKEN\s+WAITING\n.*mail\s+ada\s+1\s+1/);
  expect(limits.out).toMatch(/quota\s+smtp\s+1/);

  expect(await json("workers")).toMatchObject({
    v: 1,
    workers: [{ name: "post-office", workflows: ["mail"], versions: null, concurrency: 4 }],
    load: [{ workflow: "mail", driven: 1, due: 1, paused: false }],
    more: false,
  });
  const workers = await cli("workers");
  expect(workers.code).toBe(0);
  expect(workers.out).toMatch(/WORKER\s+DRIVES\s+SINCE \(UTC\)\s+SEEN\s+WORKFLOWS\n.*post-office\s+\d of 4/);
  // Another one of this name was killed.
  const [live] = (await json("workers"))["workers"] as Readonly<Record<string, unknown>>[];
  const dead = { ...live, since: Date.now() - 60_000, seenAt: Date.now() - 40_000 };
  await storage.limits.put?.("worker of-the-dead", JSON.stringify(dead), 60_000);
  const both = await cli("workers");
  expect(both.out).toMatch(/post-office \(e-dead\) .* silent for 4\d\.\ds/);
  expect(both.out).toMatch(/post-office \(\w{6}\) .* ago/);
  expect(workers.out).toMatch(/WORKFLOW\s+DRIVEN\s+DUE\s+LONGEST/);
  expect(workers.out + workers.err).toContain("durable wake <run>");
});
