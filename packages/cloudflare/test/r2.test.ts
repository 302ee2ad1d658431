import { bucketConformance, remoteConformance, type OpenBucket } from "@durable/testing/conformance";
import { afterAll, beforeAll, inject } from "vitest";
import { startR2 } from "./support/workerd-bucket.ts";

let server: Awaited<ReturnType<typeof startR2>>;
beforeAll(async () => {
  server = await startR2();
}, 300_000);
afterAll(() => server.stop());

let opened = 0;
const open: OpenBucket = () =>
  Promise.resolve({ bucket: server.open(`test ${(opened += 1)}/`), close: () => Promise.resolve() });

// Whole in `npm run soak:remote -- --conformance`.
const brief = process.env["DURABLE_SOAK"] === undefined;
bucketConformance("R2", open, { brief });
remoteConformance("R2", open, { brief, sample: inject("full") ? 1 : 22 });
