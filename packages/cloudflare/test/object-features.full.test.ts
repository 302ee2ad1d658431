import { remoteFeatures } from "@durable/testing/conformance";
import { afterAll, beforeAll } from "vitest";
import { startObjects } from "./support/workerd-bucket.ts";

let server: Awaited<ReturnType<typeof startObjects>>;
beforeAll(async () => {
  server = await startObjects();
}, 300_000);
afterAll(() => server.stop());

let opened = 0;
remoteFeatures("Durable Object", () =>
  Promise.resolve({
    bucket: server.open(`features ${(opened += 1)}/`),
    close: () => Promise.resolve(),
  }),
);
