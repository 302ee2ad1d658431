/**
 * 500 hostile texts in names, labels, outputs, errors, notes, schemas and messages. The policy of the page is turned
 * off here, so that only the care with which the page shows text is left; and what it asked the network for is counted.
 */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type App, createApp, durable, MemoryStorage, type StepInfo, type Workflow } from "@durable/core";
import type { KeepsPrompt, PromptRecord } from "@durable/core/storage";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { exportRun } from "../src/index.ts";
import { type DashboardServer, serveDashboard } from "../src/node/index.ts";
import { openBrowser, skipReason } from "./support/chromium.ts";
import { secret } from "./support/journals.ts";
import * as texts from "./support/payloads.ts";
import { soon, Visitor } from "./support/visitor.ts";

// A sample here, a fifth in `npm run test:full`; `PAYLOADS=all` takes all, a fifth after the other.
const isFull = inject("full");
const part = isFull ? 5 : 40;
const parts = isFull && process.env["PAYLOADS"] === "all" ? [0, 1, 2, 3, 4] : [0];
const sample = (all: readonly string[], from: number): readonly string[] =>
  all.filter((_, i) => i % part === from);

let payloads: readonly string[] = [];
let names: readonly string[] = [];

const folder = mkdtempSync(join(tmpdir(), "dashboard-hostile-"));
let browser: Browser;
let site: DashboardServer;

/** A standard schema whose JSON Schema is hostile. */
const schema = {
  "~standard": {
    version: 1 as const,
    vendor: "test",
    validate: (value: unknown) => ({ value }),
    jsonSchema: {
      input: () => ({
        type: "object",
        title: payloads[0],
        properties: Object.fromEntries(
          payloads.map((text) => [text, { type: "string", description: text, default: text, enum: [text] }]),
        ),
      }),
    },
  },
};

class Hostile extends Error {
  constructor(text: string) {
    super(text, { cause: Object.assign(new Error(text), { name: text, stack: `Error\n    at ${text}` }) });
    this.name = text;
    this.stack = `${text}\n    at ${text} (${text}:1:1)`;
  }
}

/** The second has one message of the first. */
function promptOf(turn: number): PromptRecord {
  const texts = payloads.map((text) => ({
    role: text,
    content: [{ type: "text", text }, text],
    [text]: text,
  }));
  return {
    ...(turn === 0 ? {} : { keep: 1, after: "0 0" }),
    add: [...texts, ...payloads],
    hashes: [...texts, ...payloads].map((_, i) => `${turn} ${i}`),
    about: payloads[turn]!,
    with: {
      model: payloads[0]!,
      provider: payloads[1]!,
      tools: payloads,
      settings: { [payloads[2]!]: payloads },
    },
  };
}

const hostile = (): Workflow<unknown, unknown> =>
  durable(names[0]!, async (ctx) => {
    for (const name of names) await ctx.step(name, () => payloads[0]);
    await ctx.step("all", () => payloads);
    await ctx.step("keys", () => Object.fromEntries(payloads.map((text) => [text, text])));
    await ctx.step("chat", () => ({
      messages: payloads.map((text) => ({
        role: text,
        content: [
          { type: "text", text },
          { type: "tool-call", toolName: text, input: text },
        ],
      })),
    }));
    await ctx.stream("stream", async function* () {
      for (const text of payloads) yield { type: "text-delta", id: "1", delta: text };
    });
    for (const [i, key] of ["prompt", "again"].entries())
      await ctx.step(key, (info) => {
        (info as StepInfo & KeepsPrompt).keepPrompt(() => promptOf(i));
        return payloads[0];
      });
    await ctx.suspend("wait", { schema, note: { question: payloads[1], all: payloads } });
    await ctx.step(
      "fails",
      () => {
        throw new Hostile(payloads.join("\n"));
      },
      { retry: { attempts: 2, delay: 0 } },
    );
  });

let app: App;

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.skipIf(skipReason !== null).each(parts)("hostile text, part %i", (from) => {
  beforeAll(async () => {
    [payloads, names] = [sample(texts.payloads, from), sample(texts.names, from)];
    const options = { storage: new MemoryStorage(), secret, record: { prompts: true }, bind: false };
    app = createApp({ ...options, workflows: [hostile()] });
    browser = await openBrowser();
    const run = await app.start(names[0]!, payloads, { id: "h1" });
    await run.result().catch(() => {});
    for (const [i, label] of payloads.slice(0, 12).entries())
      await app
        .get("h1")
        .fork({ from: "all", label: label.replaceAll(/\p{Cc}/gu, " ").slice(0, 200), id: `f${i}` });
    const fork = await app.get("h1").fork({ edit: { wait: payloads[2] }, id: "failed" });
    await fork.result().catch(() => {});
    await app.cancel("f1", { reason: payloads.join(" ") });
    site = await serveDashboard({ app, port: 0, title: payloads[3] });
  });
  afterAll(async () => {
    await browser?.close();
    await site?.close();
    await app.close();
  });

  const views = (): string[] => [
    "/",
    `/?text=${encodeURIComponent(payloads[1]!)}`,
    `/?workflow=${encodeURIComponent(payloads[2]!)}&status=failed`,
    "/inbox",
    "/runs/h1",
    ...["all", "keys", "chat", "stream", "wait"].map((step) => `/runs/h1?step=${step}`),
    "/runs/h1?step=stream&panel=chunks",
    "/runs/h1?step=wait&panel=schema",
    `/runs/h1?step=${encodeURIComponent(names.at(-1)!)}`,
    "/runs/h1?tab=journal&entry=3",
    "/runs/h1?tab=forks",
    "/runs/failed?step=fails",
    "/runs/failed?step=fails&panel=attempts",
    "/runs/f1",
    "/diff/h1/failed?same=1",
    `/runs/${encodeURIComponent(payloads[4]!)}`,
    `/${encodeURIComponent(payloads[5]!)}`,
    "/runs/h1?step=again&panel=prompt",
  ];

  test.runIf(inject("full"))("none runs, none is markup, nothing leaves", async () => {
    expect(new Set(texts.payloads).size).toBe(500);
    const one = await Visitor.open(browser, site.url, { bypassCSP: true });
    // The page has its session.
    await one.says("__hit");
    await one.context.addInitScript("window.__hits = 0; window.__hit = () => (window.__hits += 1);");
    one.page.on("dialog", (dialog) => {
      one.errors.push(`dialog ${dialog.message()}`);
      void dialog.dismiss();
    });
    // Every view in `npm run test:full`, and every third one here: a list, the inbox, values, a form, an error, a diff.
    for (const view of views().filter((_, i) => isFull || i % 3 === 0)) {
      await one.go(view);
      await one.settled();
      await openAll(one);
      // What the view is about is there, as text.
      if (!view.startsWith("/?"))
        await expect
          .poll(() => one.page.locator("#app").textContent(), { ...soon, message: view })
          .toContain("__hit");
      expect(await strangers(one), view).toEqual([]);
      expect(await one.page.evaluate("window.__hits"), view).toBe(0);
      expect(new URL(one.page.url()).origin, view).toBe(site.origin);
    }
    one.errors.splice(0, one.errors.length, ...one.errors.filter((text) => !/status of 40[04]/.test(text)));
    await one.close();
  });

  test("and none in an exported file", async () => {
    for (const runId of isFull ? ["h1", "failed"] : ["failed"]) {
      const path = join(folder, `${runId}.html`);
      writeFileSync(path, await exportRun(app, runId, { redact: false }));
      const one = await Visitor.open(browser, `file://${path}`, { bypassCSP: true });
      await one.page.locator("main .card").first().waitFor();
      expect(await strangers(one)).toEqual([]);
      expect(await one.page.evaluate("typeof window.__hits")).toBe("undefined");
      await one.close();
    }
  });
});

/** Opens what is folded, and scrolls through long lists. */
async function openAll(one: Visitor): Promise<void> {
  await one.page.evaluate(async () => {
    for (const each of document.querySelectorAll("details:not(.menu)"))
      (each as HTMLDetailsElement).open = true;
    for (let round = 0; round < 12; round++)
      for (const button of document.querySelectorAll<HTMLElement>(
        "button.more, button.fold[aria-expanded=false]",
      ))
        button.click();
    for (const list of document.querySelectorAll(".virtual"))
      for (let top = 0; top < list.scrollHeight; top += list.clientHeight) {
        list.scrollTop = top;
        await new Promise((resolve) => requestAnimationFrame(resolve));
      }
  });
}

/** Elements and attributes that the page never makes. */
function strangers(one: Visitor): Promise<string[]> {
  return one.page.evaluate(() => {
    const bad =
      "img,iframe,object,embed,video,audio,math,base,template,plaintext,x,body *[srcdoc],meta[http-equiv=refresh],link:not([rel=stylesheet]),main script,main style,main link";
    const found = [...document.querySelectorAll(bad)].map((each) => each.outerHTML.slice(0, 100));
    for (const each of document.querySelectorAll("*"))
      for (const { name, value } of each.attributes) {
        if (name.startsWith("on")) found.push(`${name}=${value}`);
        if (/^(?:href|src|action|formaction)$/.test(name) && /^\s*(?:javascript|data|vbscript):/i.test(value))
          found.push(`${name}=${value}`);
      }
    return found;
  });
}
