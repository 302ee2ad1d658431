import { readFileSync } from "node:fs";
import { createApp } from "@durable/core";
import { RemoteStorage } from "@durable/core/remote";
import { s3Bucket } from "@durable/s3";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { SqsQueue } from "../src/sqs.ts";
import type { ConsumerSetting } from "./support/consumer.ts";
import { killPrograms, Program } from "./support/programs.ts";
import { reportOf, secret } from "./support/report.ts";
import { startQueues, startStore } from "./support/servers.ts";

let store: Awaited<ReturnType<typeof startStore>>;
let queues: Awaited<ReturnType<typeof startQueues>>;
beforeAll(async () => {
  [store, queues] = await Promise.all([startStore(), startQueues()]);
}, 300_000);
afterAll(async () => {
  await killPrograms();
  await store.stop();
});

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 50));
}

/** A queue of this name, and a run of this id that waits for the answer which a message to it will bring. */
async function stage(id: string, visibilitySeconds: number, leaseMs: number) {
  const s3 = { ...store.s3, prefix: `${id}/` };
  const sqs = { ...(await queues.create(id)), visibilitySeconds };
  const bodies: string[] = [];
  const body = (step: string) => Promise.resolve(void bodies.push(step));
  const report = reportOf({ name: "test", body });
  const storage = new RemoteStorage(s3Bucket(s3));
  const app = createApp({ storage, secret, workflows: [report] });
  const parked = await report.with({ storage, secret }).run("tides", { id });
  if (parked.status !== "suspended") throw new Error(parked.status);
  expect(bodies).toEqual(["plan"]);

  const queue = new SqsQueue(sqs);
  const token = parked.waiting[0]!.token;
  const start = (name: string, hold = ""): Program =>
    new Program("consumer.ts", { name, hold, leaseMs, s3, sqs } satisfies ConsumerSetting);
  return {
    start,
    answer: (value: boolean) => queue.send({ type: "resume", token, value }),
    outcome: () => app.get(id).outcome(),
    recorded: async () =>
      (await app.get(id).entries()).flatMap((entry) => (entry.kind === "step.completed" ? [entry.key] : [])),
    bodies,
    empty: () => until(async () => (await queues.left(id)) === 0),
  };
}

describe.concurrent("the consumer on SQS", () => {
  test.runIf(inject("full"))(
    "H21 frozen past its visibility timeout, it writes nothing when it wakes; recorded work is not repeated",
    async ({ expect }) => {
      const all = await stage("frozen", 5, 2_500);
      await all.answer(true);
      const first = all.start("first", "draft");
      await first.line("body draft");
      first.freeze();
      const lived = first.lines.length;
      expect(first.all("taken")).toEqual(["1"]);

      const second = all.start("second", "publish");
      expect(await second.line("taken"), "SQS delivers the same message again").toBe("2");
      await second.line("body publish");

      // Its body ends while the other one drives.
      first.go();
      first.wake();
      await first.line("settled", lived);
      const after = first.lines.indexOf("settled", lived);
      const written = first.lines.slice(lived, after);
      expect(written.filter((line) => line.startsWith("created "))).toEqual([]);
      expect(written.filter((line) => line.startsWith("refused ")).length).toBeGreaterThan(0);

      second.go();
      await until(async () => (await all.outcome()).status === "completed");
      await all.empty();
      expect(await all.outcome()).toMatchObject({
        output: "tides, approved: plan by test, outline by first, draft by second, publish by second",
      });
      expect(await all.recorded()).toEqual(["plan", "outline", "draft", "publish"]);

      // The answer once more, as another message: it changes nothing.
      await all.answer(false);
      await all.empty();
      expect(first.all("body")).toEqual(["outline", "draft"]);
      expect(second.all("body")).toEqual(["draft", "publish"]);
      expect(await all.outcome()).toMatchObject({ output: expect.stringContaining("approved") });
    },
    300_000,
  );

  test.runIf(inject("full"))(
    "H22 a step that outlasts its visibility timeout runs once: who lives keeps the message",
    async ({ expect }) => {
      const all = await stage("slow", 9, 4_000);
      await all.answer(true);
      const first = all.start("first", "draft");
      await first.line("body draft");
      const second = all.start("second");
      await second.line("ready");
      // Three in each timeout.
      const prolonged = async () => (await queues.count("ChangeMessageVisibility", "slow")) >= 4;
      await until(async () => second.all("taken").length > 0 || (await prolonged()));
      first.go();
      await until(async () => (await all.outcome()).status === "completed");
      await all.empty();
      expect(first.all("taken")).toEqual(["1"]);
      expect(first.all("body")).toEqual(["outline", "draft", "publish"]);
      expect(second.all("taken")).toEqual([]);
      expect(await queues.count("DeleteMessage", "slow")).toBe(1);
    },
    300_000,
  );
});

test("the guide shows the queue as it is tested here", () => {
  const read = (path: string): string => readFileSync(new URL(path, import.meta.url), "utf8");
  const [, code = ""] = read("../src/sqs.ts").split(/(?=^export interface SqsOptions)/m);
  expect(code).toContain("ReceiveMessage");
  expect(read("../../docs/guides/operate/s3-and-sqs.md")).toContain(code.trim());
});
