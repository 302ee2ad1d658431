import { remoteFeatures } from "@durable/testing/conformance";
import { afterAll, beforeAll } from "vitest";
import { s3Bucket } from "../src/index.ts";
import { credentials, startServer } from "./server.ts";

let server: Awaited<ReturnType<typeof startServer>>;
beforeAll(async () => {
  server = await startServer();
}, 300_000);
afterAll(() => server.stop());

let opened = 0;
remoteFeatures("S3", () =>
  Promise.resolve({
    bucket: s3Bucket({
      ...credentials,
      endpoint: server.endpoint,
      bucket: "journal",
      region: "auto",
      prefix: `features ${(opened += 1)}/`,
    }),
    close: () => Promise.resolve(),
  }),
);
