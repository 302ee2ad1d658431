/** Buckets in the IndexedDB of a real page, used from here: each request runs in the browser. */

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Bucket } from "@durable/core/remote";
import { DurableError, type ErrorCode } from "@durable/core";
import type { BucketHandle } from "@durable/testing/conformance";
import { build } from "esbuild";
import { openBrowser, type Browser, type Page } from "../../../../../dashboard/test/support/chromium.ts";

const origin = "http://buckets.test/";

const contents = `
  import { IndexedDBBucket } from "./index.ts";
  const buckets = new Map();
  const bucketOf = (name) => {
    if (!buckets.has(name)) buckets.set(name, new IndexedDBBucket(name, { sync: false }));
    return buckets.get(name);
  };
  globalThis.bucketOf = bucketOf;
  globalThis.ask = async (name, method, args) => {
    try {
      return { value: await bucketOf(name)[method](...args) };
    } catch (error) {
      return { error: { code: error.code ?? "none", message: error.message } };
    }
  };
`;

type Reply =
  | { readonly value: unknown }
  | { readonly error: { readonly code: string; readonly message: string } };

export class BucketPages {
  readonly #browser: Browser;
  readonly #script: string;
  #made = 0;

  private constructor(browser: Browser, script: string) {
    this.#browser = browser;
    this.#script = script;
  }

  static async open(): Promise<BucketPages> {
    const folder = mkdtempSync(join(tmpdir(), "durable-indexeddb-"));
    const outfile = join(folder, "bucket.js");
    try {
      await build({
        stdin: {
          contents,
          resolveDir: fileURLToPath(new URL("../../../../src/adapters/indexeddb", import.meta.url)),
        },
        outfile,
        bundle: true,
        format: "esm",
        target: "es2023",
        platform: "browser",
        logLevel: "error",
      });
      return new BucketPages(await openBrowser(), readFileSync(outfile, "utf8"));
    } finally {
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    }
  }

  /** A page of the one site: all pages of a context share its databases. */
  async page(from?: Page): Promise<Page> {
    const context = from?.context() ?? (await this.#browser.newContext());
    const page = await context.newPage();
    await page.route("**/*", (route) =>
      route.fulfill({ contentType: "text/html", body: "<!doctype html><title>buckets</title>" }),
    );
    await page.goto(origin);
    await page.addScriptTag({ content: this.#script, type: "module" });
    await page.waitForFunction("globalThis.ask !== undefined");
    return page;
  }

  /** A new name for a database. */
  name(): string {
    return `bucket-${(this.#made += 1)}`;
  }

  /** A fresh bucket in a page. */
  handle(page: Page): BucketHandle {
    const name = this.name();
    return {
      bucket: bucketIn(page, name),
      close: async () => {
        await page.evaluate(`indexedDB.deleteDatabase(${JSON.stringify(name)})`);
      },
    };
  }

  close(): Promise<void> {
    return this.#browser.close();
  }
}

/** A bucket whose requests run in a page. */
export function bucketIn(page: Page, name: string): Bucket & { close(): Promise<void> } {
  const ask = async <T>(method: string, ...args: readonly unknown[]): Promise<T> => {
    const reply: Reply = await page.evaluate(
      ([name, method, args]) =>
        (globalThis as unknown as { ask(...all: unknown[]): Promise<Reply> }).ask(name, method, args),
      [name, method, args] as const,
    );
    if ("error" in reply) throw new DurableError(reply.error.code as ErrorCode, reply.error.message);
    return reply.value as T;
  };
  return {
    get: (key) => ask("get", key),
    create: (key, text) => ask("create", key, text),
    put: (key, text) => ask("put", key, text),
    list: (query) => ask("list", query),
    delete: (keys) => ask("delete", keys),
    close: () => ask("close"),
  };
}
