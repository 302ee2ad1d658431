import { bucketConformance, remoteConformance, type OpenBucket } from "@durable/testing/conformance";
import { afterAll, beforeAll } from "vitest";
import { s3Bucket } from "../src/index.ts";
import { credentials, startServer } from "./server.ts";

let server: Awaited<ReturnType<typeof startServer>>;
beforeAll(async () => {
  server = await startServer();
}, 60_000);
afterAll(() => server.stop());

let opened = 0;
const open: OpenBucket = () =>
  Promise.resolve({
    bucket: s3Bucket({
      ...credentials,
      endpoint: server.endpoint,
      bucket: "journal",
      region: "auto",
      prefix: `test ${(opened += 1)}/`,
    }),
    close: () => Promise.resolve(),
  });

// Whole, and with faults, in `npm run soak:remote`.
const brief = process.env["DURABLE_SOAK"] === undefined;
bucketConformance("R2 over S3", open, { brief });
remoteConformance("R2 over S3", open, { brief });
if (!brief) {
  remoteConformance("R2 over S3", open, {
    faults: [
      "lose-request",
      "lose-reply",
      "apply-late",
      "busy",
      "busy-after",
      "own-412",
      "stale-list",
      "short-list",
    ],
  });
}
