/** Secrets and keys that can be guessed do not sign or encrypt. As old keys they still verify and decrypt. */

import { createApp, durable, MemoryStorage, type Secret, type Storage } from "@durable/core";
import { aesGcm } from "@durable/core/encryption";
import { describe, expect, test } from "vitest";
import { keyring } from "../src/journal/tokens.ts";
import { locatorOf } from "../src/journal/keys.ts";

const good = "q2tAmZ0rXo5u1cWc";
const flow = durable("flow", (ctx) => ctx.suspend("ok"));
const appWith = (secret: Secret | undefined, storage: Storage = new MemoryStorage()): unknown =>
  createApp({ storage, workflows: [flow], ...(secret === undefined ? {} : { secret }) });
const message = expect.stringContaining("openssl rand -base64 32") as string;
const refused = { code: "invalid-options", message };

const weak = [
  ["short", "s3cr3t-s3cr3t-s"],
  ["32 zero bytes", "\0".repeat(32)],
  ["one letter", "a".repeat(64)],
  ["two letters in turn", "ab".repeat(20)],
  ["a word again and again", "changeme-changeme-changeme-chan"],
  ["a word twice", "passwordpassword"],
] as const;

describe("a token signed with a guessed secret", () => {
  test.each(weak)("%s: refused when the program starts", (_name, secret) => {
    expect(() => appWith(secret)).toThrow(expect.objectContaining(refused) as Error);
    expect(() => appWith({ current: "b", keys: { a: good, b: secret } })).toThrow(
      expect.objectContaining(refused) as Error,
    );
    expect(() => flow.with({ storage: new MemoryStorage(), secret })).toThrow(
      expect.objectContaining(refused) as Error,
    );
  });

  test("the message does not repeat it", () => {
    expect(() => appWith("hunter2-hunter2")).not.toThrow(/hunter2/);
  });

  test("a weak secret of a storage signs nothing", async () => {
    const storage = Object.assign(new MemoryStorage(), { secret: () => Promise.resolve("0".repeat(43)) });
    await expect(flow.with({ storage }).run(undefined, { id: "r" })).rejects.toMatchObject(refused);
  });

  test("as an old key it still verifies, so that tokens that were sent stay good", async () => {
    const [, old] = weak[0];
    const storage = new MemoryStorage();
    const app = createApp({
      storage,
      workflows: [flow],
      secret: { current: "b", keys: { a: old, b: good } },
    });
    const run = await app.start("flow", undefined, { id: "r" });
    await run.result().catch(() => {});
    const parked = await run.outcome();
    const fresh = parked.status === "suspended" ? (parked.waiting[0]?.token ?? "") : "";
    // What the same wait had under the old key.
    const token = keyring(old).sign(locatorOf("r"), fresh.slice(19, 29));
    expect((await app.resume(token, 1)).status).toBe("accepted");
  });
});

describe("a journal sealed with a guessed key", () => {
  const place = { runId: "r", at: "1" };
  const random = crypto.getRandomValues(new Uint8Array(32));

  test.each([
    ["32 zero bytes", new Uint8Array(32)],
    ["32 zero bytes as text", Buffer.alloc(32).toString("base64")],
    ["one byte 32 times", new Uint8Array(32).fill(7)],
    ["two bytes in turn", Uint8Array.from({ length: 32 }, (_, at) => at % 2)],
  ])("%s: refused as the current key", (_name, key) => {
    expect(() => aesGcm({ current: "k", keys: { k: key } })).toThrow(
      expect.objectContaining(refused) as Error,
    );
  });

  test("as an old key it still decrypts", async () => {
    // Sealed by an older version, with a key of 32 zero bytes.
    const sealed = "1.k.IdPKQ-U543BMuGCSruSlu64-Wh7TJ7CQ-D6rlXoJkm0";
    const both = aesGcm({ current: "new", keys: { new: random, k: new Uint8Array(32) } });
    expect(await both.open(sealed, place)).toBe("text");
    expect(await both.seal("text", place)).toMatch(/^1\.new\./);
  });
});
