/** What docs/guides/operate/durable-objects.md says that D1 could hold and could not, tried. */

import { createApp, durable } from "@durable/core";
import { RemoteStorage } from "@durable/core/remote";
import { bucketConformance, remoteConformance, type OpenBucket } from "@durable/testing/conformance";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startD1 } from "./support/workerd-bucket.ts";

let server: Awaited<ReturnType<typeof startD1>>;
beforeAll(async () => {
  server = await startD1();
}, 300_000);
afterAll(() => server.stop());

let opened = 0;
const bucket = (): ReturnType<typeof server.open> => server.open(`test ${(opened += 1)}/`);
const open: OpenBucket = () => Promise.resolve({ bucket: bucket(), close: () => Promise.resolve() });

bucketConformance("D1", open, { brief: true });
remoteConformance("D1", open, { brief: true, sample: 12 });

test("of 50 that create one key at the same time one succeeds", async () => {
  const texts = bucket();
  const made = await Promise.all(Array.from({ length: 50 }, (_, i) => texts.create("key", `text ${i}`)));
  expect(made.filter(Boolean)).toHaveLength(1);
});

test("of two answers at the same time one is accepted", async () => {
  const storage = new RemoteStorage(bucket());
  const asks = durable("asks", (ctx) => ctx.suspend<string>("ask"));
  const secret = "a secret for tests, of no worth";
  const app = (): ReturnType<typeof createApp> => createApp({ storage, secret, workflows: [asks], warm: 0 });
  const outcome = await app().run(asks, undefined, { id: "run" });
  const [{ token } = { token: "" }] = outcome.status === "suspended" ? outcome.waiting : [];
  const answers = await Promise.all(["one", "two"].map((answer) => app().resume(token, answer)));
  expect(answers.map(({ status }) => status).toSorted()).toEqual(["accepted", "duplicate"]);
});

test("a text of 1 MB is stored, and one of 5 MB is refused", async () => {
  const texts = bucket();
  await texts.put("large", "x".repeat(1_000_000));
  expect((await texts.get("large"))?.length).toBe(1_000_000);
  await expect(texts.put("larger", "x".repeat(5_000_000))).rejects.toThrow(/too big|TOOBIG/i);
});
