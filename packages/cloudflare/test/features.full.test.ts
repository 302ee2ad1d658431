import { remoteFeatures } from "@durable/testing/conformance";
import { afterAll, beforeAll } from "vitest";
import { startR2 } from "./support/workerd-bucket.ts";

let server: Awaited<ReturnType<typeof startR2>>;
beforeAll(async () => {
  server = await startR2();
}, 300_000);
afterAll(() => server.stop());

let opened = 0;
remoteFeatures("R2", () =>
  Promise.resolve({
    bucket: server.open(`features ${(opened += 1)}/`),
    close: () => Promise.resolve(),
  }),
);
