import { bucketConformance, remoteConformance, type OpenBucket } from "@durable/testing/conformance";
import { afterAll, beforeAll, inject } from "vitest";
import { startObjects } from "./support/workerd-bucket.ts";

let server: Awaited<ReturnType<typeof startObjects>>;
beforeAll(async () => {
  server = await startObjects();
}, 300_000);
afterAll(() => server.stop());

let opened = 0;
const open: OpenBucket = () =>
  Promise.resolve({ bucket: server.open(`test ${(opened += 1)}/`), close: () => Promise.resolve() });

// Whole in `npm run soak:remote -- --conformance`.
const brief = process.env["DURABLE_SOAK"] === undefined;
bucketConformance("Durable Object", open, { brief });
remoteConformance("Durable Object", open, { brief, sample: inject("full") ? 1 : 22 });
