import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createApp, durable, Journal, secret, type DurableError, type World } from "@durable/core";
import { systemWorld } from "@durable/core/storage";
import { SqliteStorage } from "@durable/core/sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { tempFolder } from "../support/sqlite-temp.ts";

const canary = "sk-canary-9f2c7e51d0a84b36";
const key = secret(canary, "API_KEY");

class ProviderError extends Error {
  readonly request = { headers: { authorization: `Bearer ${canary}` } };
}

/** An error that names the secret in its message, its cause, a field, and so in its stack. */
function refused(): Error {
  const cause = new ProviderError(`401 for ${canary}`);
  return new Error(`the provider refused key ${canary} (${encodeURIComponent(`k=${canary}`)})`, { cause });
}

/** Everything in a folder, as bytes. */
function bytesOf(folder: string): string {
  return readdirSync(folder)
    .map((name) => readFileSync(join(folder, name)).toString("latin1"))
    .join("\n");
}

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return JSON.stringify(error);
  return [error.message, error.stack, JSON.stringify(error), textOf(error.cause ?? "")].join("\n");
}

async function caught(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => null,
    (error: unknown) => error,
  );
}

describe("H67 a canary secret", () => {
  test("in input, arguments, outputs, errors, causes, notes, answers, chunks and reasons: in no byte, no log, no message", async () => {
    const { folder, path, remove } = tempFolder();
    onTestFinished(remove);
    const storage = new SqliteStorage(path);
    const logs: string[] = [];
    const world: World = { ...systemWorld, warn: (message) => void logs.push(message) };
    const child = durable("child", async (ctx, given: { key: string }) =>
      ctx.step("use", () => `child has ${given.key}`),
    );
    const flow = durable("leaky", async (ctx, given: { plain: string; kept: typeof key }) => {
      const used = await ctx.step("use", () => `${given.kept.reveal()} and ${given.plain}`, {
        input: canary,
      });
      const chunks = await ctx.stream("chunks", () => [`a ${canary} b`, { deep: [canary] }]);
      const failed = await caught(ctx.step("fails", () => Promise.reject(refused()), { retry: false }));
      const below = await ctx.child(child, { key: canary });
      const answer = await ctx.suspend("ask", {
        note: `use ${canary}`,
        schema: z.object({ ok: z.literal(true, { error: () => `not ${canary}` }) }),
      });
      await ctx.step("large", () => Array.from({ length: 500 }, (_, i) => ({ i, text: `${canary} ${i}` })));
      if (answer.ok) throw new Error(`the end, with ${canary}`, { cause: failed });
      return [used, chunks, below];
    });
    const app = createApp({
      workflows: [flow, child],
      storage,
      world,
      secret: "a secret for tests, of no worth",
    });
    const run = await app.start("leaky", { plain: canary, kept: key }, { id: "r" });
    const suspended = await caught(run.result());
    const waiting = (suspended as DurableError).details["waiting"] as { token: string }[];
    const token = waiting[0]?.token ?? "";
    const invalid = await app.resume(token, { ok: canary });
    expect(invalid.status).toBe("invalid");
    await app.resume(token, { ok: canary, note: canary }, { drive: false });
    await app.advance("r");
    const ended = await app.resume(token, { ok: true });
    const other = await app.start("leaky", { plain: canary, kept: key }, { id: "s" });
    await caught(other.result());
    await app.cancel("s", { reason: `because of ${canary}` });
    const journal = await Journal.open("direct", { storage, world });
    const thrown = await caught(journal.record("call", () => Promise.reject(refused())));
    expect(thrown).toBeInstanceOf(Error);
    expect(await journal.record("call", () => `direct ${canary}`)).toBe("direct [secret API_KEY]");
    for await (const _ of journal.recordStream("stream", () => [canary])) void _;
    const outcome = await app.get("r").outcome();
    expect(outcome.status).toBe("failed");
    const entries = JSON.stringify(await app.get("r").entries());
    expect(entries).toContain("[secret API_KEY]");
    const told = [
      invalid.issues ?? "",
      ended,
      outcome.status === "failed" ? textOf(outcome.error) : "",
      entries,
    ];
    await storage.close();
    for (const text of [...told, ...logs])
      expect(typeof text === "string" ? text : JSON.stringify(text)).not.toContain(canary);
    const bytes = bytesOf(folder);
    expect(bytes).toContain("[secret API_KEY]");
    expect(bytes).not.toContain(canary);
    expect(bytes).not.toContain(Buffer.from(canary).toString("base64").slice(0, 24));
  });

  test("is revealed to the code that has it, in another process as in this one", async () => {
    const flow = durable("reveals", async (ctx, given: { kept: typeof key }) => {
      const length = await ctx.step("use", () => given.kept.reveal().length);
      return [length, String(given.kept)];
    });
    const { path, remove } = tempFolder();
    onTestFinished(remove);
    const storage = new SqliteStorage(path);
    const outcome = await flow.with({ storage }).run({ kept: key });
    expect(outcome).toMatchObject({ status: "completed", output: [canary.length, "[secret API_KEY]"] });
    await storage.close();
  });
});
