import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApp, durable, MemoryStorage, type Storage } from "@durable/core";
import { aesGcm } from "@durable/core/encryption";
import { FolderBucket } from "@durable/core/folder";
import { blockedNote } from "@durable/core/inspect";
import { RemoteStorage } from "@durable/core/remote";
import { SqliteStorage } from "@durable/core/sqlite";
import { describe, expect, onTestFinished, test } from "vitest";

const value = "card-4111-1111-1111";
const secret = "only for this test, 32 characters";
const encryption = aesGcm({ current: "a", keys: { a: crypto.getRandomValues(new Uint8Array(32)) } });

/** A storage, and all that is in it as text. */
type Place = () => { readonly storage: Storage; readonly raw: () => string };

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "durable-note-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

function textOf(path: string): string {
  const files = readdirSync(path, { recursive: true, encoding: "utf8" }).map((name) => join(path, name));
  return files
    .filter((file) => statSync(file).isFile())
    .map((file) => readFileSync(file, "latin1"))
    .join("\n");
}

const places: Readonly<Record<string, Place>> = {
  memory: () => {
    const storage = new MemoryStorage();
    const notes: string[] = [];
    const note = storage.note.bind(storage);
    storage.note = (locator, given) => {
      notes.push(JSON.stringify(given));
      return note(locator, given);
    };
    return { storage, raw: () => notes.join("\n") };
  },
  sqlite: () => {
    const path = folder();
    return { storage: new SqliteStorage(join(path, "journal.db")), raw: () => textOf(path) };
  },
  folder: () => {
    const path = folder();
    return { storage: new RemoteStorage(new FolderBucket(path)), raw: () => textOf(path) };
  },
};

describe.each(Object.entries(places))("the note of a blocked run, on %s", (_, open) => {
  test("has no recorded value in clear, and can be read with the key", async () => {
    const { storage, raw } = open();
    onTestFinished(async () => storage.close?.());
    const asks = durable("pays", async (ctx) => {
      const card = await ctx.step("card", () => value);
      return ctx.suspend("ok", { note: card });
    });
    const lost = durable("pays", async (ctx) => {
      throw new Error(`declined ${await ctx.step("card", () => "never")}`);
    });
    const options = { storage, secret, encryption };
    await (
      await createApp({ ...options, workflows: [asks] }).start("pays", undefined, { id: "r" })
    )
      .result()
      .catch(() => {});
    const app = createApp({ ...options, workflows: [lost] });
    const blocked = await app.advance("r");
    expect(blocked).toMatchObject({ status: "blocked", error: { code: "diverged" } });
    const text = raw();
    expect(text).toContain("diverged");
    expect(text).not.toContain(value);
    // Another handle reads the note, and not what the drive returned.
    const again = await createApp({ ...options, workflows: [lost] })
      .get("r")
      .outcome();
    const message = expect.stringContaining(value) as string;
    expect(again).toMatchObject({ status: "blocked", error: { code: "diverged", message } });
    expect((await app.list({ status: "blocked" })).runs).toMatchObject([{ blocked: { message } }]);
    expect(await blockedNote(app, "r")).toMatchObject({ code: "diverged", message });
    // Without the key the list still says that the run is blocked, and by which code.
    const { runs } = await createApp({ storage, secret, workflows: [] }).list({ status: "blocked" });
    expect(runs).toMatchObject([{ blocked: { code: "diverged" } }]);
    expect(runs[0]?.blocked?.message).toBe("The reason is encrypted, and no key of this process opens it.");
  });
});
