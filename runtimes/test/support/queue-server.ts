/** An SQS-compatible server on loopback. Says where it is; counts what it is asked. */

import { buildApp } from "fauxqs";

const server = buildApp({ logger: false });
const counts: Record<string, number> = {};
server.addHook("preHandler", async ({ headers, body }) => {
  const { QueueUrl = "" } = (body ?? {}) as { QueueUrl?: string };
  const what = `${String(headers["x-amz-target"]).replace("AmazonSQS.", "")} ${QueueUrl.split("/").at(-1)}`;
  counts[what] = (counts[what] ?? 0) + 1;
});
server.get("/counts", () => counts);
console.log("listens", await server.listen({ host: "127.0.0.1", port: 0 }));
