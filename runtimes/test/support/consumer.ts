/**
 * A process that takes messages from SQS and keeps journals in S3, and says what it does:
 *
 * body <step>                a body begins; those it was told to hold wait for a line on its input
 * created, refused <key>     what became of an object of a log
 * taken <attempts>           a message begins to be worked on, delivered so often by now
 * settled                    and nothing more is done about it
 */

import { createInterface } from "node:readline";
import { createConsumer } from "@durable/cloudflare";
import { createApp } from "@durable/core";
import { RemoteStorage, type Bucket } from "@durable/core/remote";
import { s3Bucket, type S3Options } from "@durable/s3";
import { reportOf, secret } from "./report.ts";
import { SqsQueue, type SqsOptions } from "../../src/sqs.ts";

export interface ConsumerSetting {
  readonly name: string;
  readonly hold: string;
  readonly leaseMs: number;
  readonly s3: S3Options;
  readonly sqs: SqsOptions;
}

const { name, hold, leaseMs, s3, sqs } = JSON.parse(process.argv[2] ?? "") as ConsumerSetting;
const input = createInterface({ input: process.stdin });
const say = (...words: unknown[]): void => console.log(words.join(" "));

const body = async (step: string): Promise<void> => {
  say("body", step);
  if (step === hold) await new Promise((resolve) => input.once("line", resolve));
};

function told(bucket: Bucket): Bucket {
  return {
    get: (key) => bucket.get(key),
    put: (key, text) => bucket.put(key, text),
    list: (query) => bucket.list(query),
    delete: (keys) => bucket.delete(keys),
    create: async (key, text) => {
      const created = await bucket.create(key, text);
      if (key.startsWith("runs/")) say(created ? "created" : "refused", key);
      return created;
    },
  };
}

const storage = new RemoteStorage(told(s3Bucket(s3)));
const app = createApp({ storage, secret, lease: leaseMs, workflows: [reportOf({ name, body })] });
const queue = new SqsQueue(sqs);
const consumer = createConsumer(app, { queue, lookAgainSeconds: 1 });
const watched = {
  ...consumer,
  queue: async (batch: Parameters<typeof consumer.queue>[0]) => {
    say("taken", batch.messages[0]?.attempts);
    await consumer.queue(batch);
  },
};
say("ready");
for (;;) if (await queue.take(watched)) say("settled");
