/** The client in a page, whose server is killed while it answers. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll, describe, expect, test } from "vitest";
import { openBrowser, skipReason } from "../../dashboard/test/support/chromium.ts";

const folder = mkdtempSync(join(tmpdir(), "durable-client-page-"));
const script = join(folder, "client.js");
const program = fileURLToPath(new URL("support/client-server.ts", import.meta.url));
let server: ChildProcess | null = null;

afterAll(async () => {
  await kill();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

async function kill(): Promise<void> {
  if (server === null || server.exitCode !== null || server.signalCode !== null) return;
  server.kill("SIGKILL");
  await once(server, "exit");
}

/** Starts the server, on the port that it had before; it tells at most so many words. */
async function start(most: number, port = "0"): Promise<string> {
  const args = ["--conditions=durable-source", program, folder, port, script, String(most)];
  server = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(server.stdout as NodeJS.ReadableStream, "data")) as [Buffer];
  return line.toString().trim();
}

/** What the page reads, as it reads it. */
const contents = `
  import { createClient } from "@durable/http/client";
  const client = createClient({ url: "/api" });
  const seen = (window.seen = { events: [], result: null, error: null });
  try {
    const run = await client.start("tale", "Ada", { id: "told" });
    for await (const event of run.stream("tell")) seen.events.push(event);
    seen.result = await run.result({ wait: true });
    seen.runs = (await client.list()).runs.length;
  } catch (error) {
    seen.error = String(error);
  }
  document.title = "done";
`;

interface Seen {
  readonly events: { readonly type: string; readonly index?: number; readonly value?: string }[];
  readonly result: unknown;
  readonly error: string | null;
  readonly runs: number;
}

describe.skipIf(skipReason !== null)("a page with the client", () => {
  test("reads one stream to its end over three servers, two of which are killed", async () => {
    await build({
      stdin: { contents, resolveDir: folder },
      alias: { "@durable/http/client": fileURLToPath(new URL("../src/client.ts", import.meta.url)) },
      outfile: script,
      bundle: true,
      format: "esm",
      logLevel: "error",
    });
    const url = await start(10);
    const browser = await openBrowser();
    try {
      const page = await browser.newPage();
      page.setDefaultTimeout(120_000);
      const errors: string[] = [];
      page.on("pageerror", (error) => errors.push(error.message));
      await page.goto(url);
      // The second server tells 20 words, the third one all of them.
      for (const [least, most] of [
        [5, 20],
        [20, 30],
      ] as const) {
        await page.waitForFunction(`window.seen?.events.length >= ${least} || document.title === "done"`);
        await kill();
        await start(most, new URL(url).port);
      }
      await page.waitForFunction(`document.title === "done"`);
      const seen = (await page.evaluate("window.seen")) as Seen;
      expect(seen.error).toBeNull();
      expect(seen.result).toEqual({ last: "Ada 29", end: "1970-01-01T00:00:00.000Z" });
      // What was told before the last reset is void.
      const attempts = seen.events.filter(({ type }) => type === "reset").length;
      expect(attempts).toBeGreaterThan(0);
      const last = seen.events.slice(seen.events.findLastIndex(({ type }) => type === "reset") + 1);
      expect(last.map(({ value }) => value)).toEqual(Array.from({ length: 30 }, (_, i) => `Ada ${i}`));
      expect(seen.runs).toBe(1);
      expect(errors).toEqual([]);
    } finally {
      await browser.close();
    }
  }, 300_000);
});
