import { durable } from "@durable/core";
import { RemoteStorage } from "@durable/core/remote";
import { s3Bucket } from "@durable/s3";
import { afterAll, expect, test } from "vitest";
import { killPrograms } from "./support/programs.ts";
import { secret } from "./support/report.ts";
import { startQueues } from "./support/servers.ts";

afterAll(killPrograms);

test("a store that ignores conditions is refused before a step runs, and nothing is left in it", async () => {
  const bucket = s3Bucket(await (await startQueues()).store("journal"));
  // What it does: both writers would be told that they had won.
  expect([await bucket.create("a", "first"), await bucket.create("a", "second")]).toEqual([true, true]);
  expect(await bucket.get("a")).toBe("second");
  await bucket.delete(["a"]);

  let bodies = 0;
  const storage = new RemoteStorage(bucket);
  const flow = durable("never", (ctx) => ctx.step("s", () => ++bodies), { storage, secret });
  const refused = flow.run(undefined, { id: "never-1" });
  await expect(refused).rejects.toMatchObject({ code: "no-storage", details: { conditions: false } });
  await expect(refused).rejects.toThrow(
    /replaced an existing object\. Use a store that supports If-None-Match on writes/,
  );
  expect(bodies).toBe(0);
  expect(await bucket.list({ prefix: "" })).toEqual({ keys: [], more: false });
});
