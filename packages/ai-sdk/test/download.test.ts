/** Files that the SDK downloads before it asks a model: plain, in a run, and in its next life. */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { DurableError, Journal, MemoryStorage, type Context } from "@durable/core";
import * as ai7 from "ai";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { durableDownload, durableModel, durableTools, type Download } from "../src/index.ts";
import { Lab } from "./support/lab.ts";
import { Media } from "./support/media-models.ts";
import { Provider } from "./support/provider.ts";
import { threeLives } from "./support/three-lives.ts";
import { versions } from "./support/versions.ts";

globalThis.AI_SDK_LOG_WARNINGS = false;

/** A server of files, which says something else each time. */
let files: Server;
let provider: Provider;
const requests: string[] = [];

beforeEach(async () => {
  requests.length = 0;
  files = createServer((request, response) => {
    const path = request.url ?? "";
    requests.push(path);
    if (path.startsWith("/missing")) return void response.writeHead(404).end();
    if (path.startsWith("/busy") && requests.length === 1) return void response.writeHead(503).end();
    response.setHeader("content-type", path.endsWith(".wav") ? "audio/wav" : "image/png");
    response.end(`\u0089PNG\r\n ${path.startsWith("/changes") ? requests.length : ""}`);
  });
  await new Promise<void>((resolve) => files.listen(0, "127.0.0.1", resolve));
  provider = await Provider.open(({ results }) =>
    results > 0 ? { text: "A dot." } : { text: "", calls: [{ tool: "look", input: {}, id: "c" }] },
  );
});

afterEach(async () => {
  await provider.close();
  files.closeAllConnections();
  await new Promise((resolve) => files.close(resolve));
});

const at = (path: string): string => `http://127.0.0.1:${(files.address() as AddressInfo).port}${path}`;

/** As the SDK downloads, which refuses addresses of the own network. */
const download: Download = async ({ url, abortSignal }) => {
  const response = await fetch(url, { signal: abortSignal });
  if (!response.ok) {
    const { status: statusCode, statusText } = response;
    throw new ai7.DownloadError({ url: url.href, statusCode, statusText });
  }
  const mediaType = response.headers.get("content-type") ?? undefined;
  return { data: new Uint8Array(await response.arrayBuffer()), mediaType };
};
const plainly = (asked: readonly { url: URL; isUrlSupportedByModel: boolean }[]) =>
  Promise.all(asked.map(({ url }) => download({ url, abortSignal: new AbortController().signal })));

describe.each(versions.map((version) => [version.name, version] as const))("%s", (_, { ai, models }) => {
  const look = ai.tool({ inputSchema: z.object({}), execute: () => "looked" });
  const program = (path: string, stream: boolean) => async (ctx: Context | null) => {
    const model = models.compatible(provider.url);
    const asked = {
      model: ctx === null ? model : durableModel(ctx, model),
      tools: ctx === null ? { look } : durableTools(ctx, { look }),
      stopWhen: ai.stepCountIs(3),
      experimental_download: ctx === null ? plainly : durableDownload(ctx, download, { retry: false }),
      messages: [
        {
          role: "user" as const,
          content: [
            { type: "text" as const, text: "What is it?" },
            { type: "image" as const, image: new URL(at(path)) },
          ],
        },
      ],
    };
    return stream ? ai.streamText({ ...asked, onError: () => {} }).text : (await ai.generateText(asked)).text;
  };

  test.each([false, true])(
    "streaming %s: a picture that changes is downloaded once per run, and never on replay",
    async (stream) => {
      const lives = await threeLives(program("/changes.png?key=canary", stream));
      expect(lives.plain).toEqual({ value: "A dot." });
      expect(lives.run).toEqual(lives.plain);
      expect(lives.next).toEqual(lives.run);
      // Two turns of the plain SDK, one of the run.
      expect(requests).toHaveLength(3);
      expect(provider.requests).toHaveLength(4);
      expect(await lives.lab.text()).not.toContain("canary");
    },
  );

  test("a download that is refused is an error of the SDK, live and from the journal", async () => {
    const lives = await threeLives(program("/missing.png?key=canary", false));
    expect(lives.plain).toMatchObject({ error: { name: "AI_DownloadError" } });
    const { origin } = new URL(at("/"));
    const message = `Failed to download ${origin}/missing.png: 404 Not Found`;
    expect(lives.run).toMatchObject({ error: { name: "AI_DownloadError", message } });
    expect(lives.next).toEqual(lives.run);
    expect(requests).toHaveLength(2);
    expect(await lives.lab.text()).not.toContain("canary");
  });
});

test("the errors are recognized by the SDK after a replay", async () => {
  const lab = new Lab();
  const body = async (ctx: Context) => durableDownload(ctx, download)({ url: new URL(at("/missing.png")) });
  for (let life = 0; life < 2; life++) {
    const { error } = await lab.drive(body);
    expect(ai7.DownloadError.isInstance(error)).toBe(true);
    expect(error).toMatchObject({ statusCode: 404 });
  }
  expect(requests).toHaveLength(1);
});

test("a server that is busy is asked again", async () => {
  const lab = new Lab();
  const { value } = await lab.drive((ctx) =>
    durableDownload(ctx, download, { retry: { attempts: 2, delay: 0 } })({ url: new URL(at("/busy.png")) }),
  );
  expect(value).toMatchObject({ mediaType: "image/png" });
  expect(requests).toHaveLength(2);
});

test("what is larger than the limit is refused by code, and not tried again", async () => {
  const lab = new Lab();
  const body = (ctx: Context) =>
    durableDownload(ctx, download, { maxBytes: 4 })({ url: new URL(at("/big.png?key=canary")) });
  for (let life = 0; life < 2; life++) {
    const { error } = await lab.drive(body);
    expect(DurableError.is(error, "too-large")).toBe(true);
    expect(String(error)).toContain("/big.png has 8 bytes; the limit is 4. Raise maxBytes");
    expect(String(error)).not.toContain("canary");
  }
  expect(requests).toHaveLength(1);
});

test("addresses of the own network stay refused by the download of the SDK", async () => {
  const lab = new Lab();
  const { error } = await lab.drive((ctx) =>
    durableDownload(ctx, ai7.createDownload())({ url: new URL(at("/secret.png")) }),
  );
  expect(ai7.DownloadError.isInstance(error)).toBe(true);
  expect(requests).toEqual([]);
});

test("addresses that the model reads itself are left to it; a journal keeps downloads, too", async () => {
  const storage = new MemoryStorage();
  for (let life = 0; life < 2; life++) {
    const own = durableDownload(await Journal.open("j", { storage }), download);
    const [first, second] = await own([
      { url: new URL(at("/a.png")), isUrlSupportedByModel: true },
      { url: new URL(at("/b.png")), isUrlSupportedByModel: false },
    ]);
    expect(first).toBeNull();
    expect(second?.data).toBeInstanceOf(Uint8Array);
  }
  expect(requests).toEqual(["/b.png"]);
});

test("transcribe takes it as its download", async () => {
  const media = new Media("ai 7");
  const { run, next } = await threeLives(async (ctx) => {
    const model = media.model("transcription");
    if (ctx === null) return null;
    const audio = new URL(at("/changes.wav"));
    const asked = { model: durableModel(ctx, model as object) as never, audio };
    return (await ai7.transcribe({ ...asked, download: durableDownload(ctx, download) })).text;
  });
  expect(next).toEqual(run);
  expect(run).toHaveProperty("value");
  expect(requests).toHaveLength(1);
});
