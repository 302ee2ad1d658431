/** A bucket and a queue on loopback, spoken to as AWS is. */

import { credentials, startServer } from "../../../packages/s3/test/server.ts";
import { Program } from "./programs.ts";

/** Cloudflare's own R2, behind its S3 API: conditions and signatures are checked. */
export async function startStore(script?: string) {
  const { url, endpoint, stop } = await startServer(script);
  return { url, stop, s3: { ...credentials, endpoint, bucket: "journal", region: "auto" } };
}

/** Visibility timeouts run in real time. */
export async function startQueues() {
  const server = new Program("queue-server.ts");
  const origin = await server.line("listens");
  const look = async <T>(path: string): Promise<T> =>
    (await fetch(new URL(path, origin))).json() as Promise<T>;
  return {
    /** The same server as an object store, which takes conditions and ignores them. */
    store: async (bucket: string) => {
      const made = await fetch(new URL(`/${bucket}`, origin), { method: "PUT" });
      if (!made.ok) throw new Error(await made.text());
      return { ...credentials, endpoint: origin, bucket };
    },
    /** A new queue, and how to reach it. */
    create: async (name: string) => {
      const headers = {
        "content-type": "application/x-amz-json-1.0",
        "x-amz-target": "AmazonSQS.CreateQueue",
      };
      const init = { method: "POST", headers, body: JSON.stringify({ QueueName: name }) };
      const { QueueUrl } = (await (await fetch(origin, init)).json()) as { QueueUrl: string };
      // It names itself by a host that only some systems know.
      const queueUrl = new URL(new URL(QueueUrl).pathname, origin).href;
      return { ...credentials, region: "us-east-1", queueUrl };
    },
    /** How often something was asked of a queue. */
    count: async (action: string, name: string): Promise<number> =>
      (await look<Record<string, number>>("/counts"))[`${action} ${name}`] ?? 0,
    /** How many messages there are: to be had, delayed and in somebody's hands. */
    left: async (name: string): Promise<number> => {
      const { messages } = await look<{ messages: Record<string, unknown[]> }>(`/_fauxqs/queues/${name}`);
      return Object.values(messages).flat().length;
    },
  };
}
