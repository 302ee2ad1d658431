import { bucketConformance, remoteConformance, type OpenBucket } from "@durable/testing/conformance";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { s3Bucket } from "../src/index.ts";
import { credentials, startServer } from "./server.ts";

let server: Awaited<ReturnType<typeof startServer>>;
beforeAll(async () => {
  server = await startServer();
}, 300_000);
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

// Whole in `npm run soak:remote -- --conformance`.
const brief = process.env["DURABLE_SOAK"] === undefined;
bucketConformance("R2 over S3", open, { brief });
remoteConformance("R2 over S3", open, { brief, sample: inject("full") ? 1 : 26 });

test("signatures are checked: a wrong secret is refused, once and by name", async () => {
  const place = { endpoint: server.endpoint, bucket: "journal", region: "auto" };
  const stranger = s3Bucket({ ...credentials, ...place, secretAccessKey: "a guess" });
  await expect(stranger.create("a", "b")).rejects.toMatchObject({
    code: "storage-readonly",
    details: { status: 403 },
  });
  await expect(s3Bucket({ ...credentials, ...place, bucket: "nowhere" }).get("a")).rejects.toMatchObject({
    code: "no-storage",
  });
});
