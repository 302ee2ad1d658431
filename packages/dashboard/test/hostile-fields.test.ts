/**
 * 500 hostile texts, each with a mark of direction, in the fields that lists, sums and screens beside a run show: reasons, reports,
 * questions, failures, tags, labels, words under way, names of schedules, quotas, slots, workers, models and steps, suggestions,
 * the palette, notes of scores, examples and reports of evals. The policy of the page is off, so that only the care with which it shows text is left.
 */

import { createApp, createWorker, durable, MemoryStorage, type App } from "@durable/core";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, test, vi } from "vitest";
import { exampleNote, exampleScore, underWay } from "@durable/core/inspect";
import { runEval } from "@durable/core/storage";
import { serveDashboard } from "../src/node/index.ts";
import { openBrowser, skipReason } from "./support/chromium.ts";
import { report } from "./support/eval-reports.ts";
import { secret } from "./support/journals.ts";
import * as texts from "./support/payloads.ts";
import { soon, Visitor } from "./support/visitor.ts";

/** As many as each list of the home and cost screens has at least. */
const atOnce = 6;
// A sample here, a fifth in `npm run test:full`; `PAYLOADS=all` takes all.
const every = process.env["PAYLOADS"] === "all" ? 1 : inject("full") ? 5 : 150;
const all = texts.payloads.map((_, i) => i).filter((i) => i % every === 0);
const chunks = Array.from({ length: Math.ceil(all.length / atOnce) }, (_, i) =>
  all.slice(i * atOnce, (i + 1) * atOnce),
);

/** What turns the text after it around, if it is drawn as it is. */
const turn = "\u202E";
const text = (field: string, i: number): string => `${field}${i}. ${turn}${texts.payloads[i]}`;
/** In one line, as tags and labels are. */
const line = (field: string, i: number): string => text(field, i).replaceAll(/\p{Cc}/gu, " ");
const name = (field: string, i: number): string => `${field}${i}. ${turn}${texts.names[i]}`.slice(0, 100);

interface Made {
  readonly app: App;
  readonly close: () => Promise<void>;
}

/** An app in which each field has each of these texts. */
async function troubled(some: readonly number[]): Promise<Made> {
  const storage = new MemoryStorage();
  const gate = Promise.withResolvers<void>();
  const asks = (i: number) =>
    durable(name("asks", i), async (ctx) => {
      ctx.report(text("report", i));
      await ctx.suspend(name("wait", i), {
        note: { question: text("question", i), more: text("note", i) },
        timeout: "1 hour",
      });
    });
  const fails = (i: number) =>
    durable(name("fails", i), (ctx) =>
      ctx.step(
        name("step", i),
        (info) => {
          info.meter({ model: text("model", i), inputTokens: 9, outputTokens: 9, label: text("by", i) });
          throw new Error(text("failure", i));
        },
        { retry: false },
      ),
    );
  const talks = (i: number) =>
    durable(
      name("talks", i),
      async (ctx) => {
        await ctx.stream(name("says", i), async function* () {
          yield text("words", i).slice(0, 60);
          await gate.promise;
        });
      },
      { concurrency: { max: 1, key: () => text("slot", i) } },
    );
  const changes = (i: number, step: string) =>
    durable(name("changes", i), (ctx) => ctx.step(step, () => 1).then(() => ctx.suspend("go")));
  const idle = (i: number) => durable(name("idle", i), (ctx) => ctx.sleep("1 day"));
  const quotas = Object.fromEntries(
    some.map((i) => [name("quota", i), { requests: 5, per: "1 hour" as const }]),
  );
  const prices = Object.fromEntries(some.map((i) => [text("model", i), { input: 1e5, output: 1e5 }]));
  const options = { storage, secret, quotas, prices, bind: false, patience: 0 } as const;
  const idles = new Map(some.map((i) => [i, idle(i)]));
  const of = (make: (i: number) => ReturnType<typeof idle>) => some.map(make);
  const app = createApp({
    ...options,
    workflows: [
      ...of(asks),
      ...of(fails),
      ...of(talks),
      ...some.map((i) => changes(i, "was")),
      ...idles.values(),
    ],
  });
  for (const i of some) {
    const tags = { customer: line("tag", i).slice(0, 100) };
    await app.start(name("talks", i), null, { id: `t${i}` });
    await app.start(name("talks", i), null, { id: `t${i}-next` });
    await app.run(name("asks", i), null, { id: `a${i}`, tags });
    await app.get(`a${i}`).score("helpful", 0, text("scored", i));
    const example = { label: text("example", i), expected: text("expected", i) };
    await app.get(`a${i}`).score(exampleScore, 1, exampleNote(example));
    await app.run(name("fails", i), null, { id: `f${i}`, tags });
    await app.run(name("changes", i), null, { id: `b${i}` });
    await app.run(name("idle", i), null, { id: `p${i}` });
    await app.get(`p${i}`).pause({ reason: text("paused", i) });
    await app
      .get(`a${i}`)
      .fork({ from: name("wait", i), id: `k${i}`, label: line("label", i).slice(0, 150) });
    await app.pause(name("idle", i), { reason: text("stopped", i) });
    const daily = { every: "1 day", input: text("input", i) } as const;
    await expect(app.schedule(name("schedule", i), idles.get(i)!, daily)).rejects.toMatchObject({
      code: "invalid-name",
    });
    await app.schedule(`daily-${i}`, idles.get(i)!, daily);
  }
  await keepReports(app, some);
  const changed = createApp({ ...options, workflows: some.map((i) => changes(i, name("other", i))) });
  for (const i of some) await changed.advance(`b${i}`);
  const workers = some.map((i) =>
    createWorker(changed, { name: name("worker", i), versions: [name("version", i)] }),
  );
  await vi.waitFor(async () => expect((await underWay(app)).size).toBe(some.length), soon);
  return {
    app,
    close: async () => {
      gate.resolve();
      await Promise.all(workers.map((worker) => worker.stop()));
      await Promise.all([app.close(), changed.close()]);
    },
  };
}

/** A report of an eval for each of these texts, in which each field has it. */
async function keepReports(app: App, some: readonly number[]): Promise<void> {
  for (const i of some) {
    const best = { name: text("best", i), change: 0.5, worse: 1 };
    const kept = durable("eval-report", (ctx) => {
      ctx.report({ runs: 1, passed: false, paid: 1, best });
      return Promise.resolve();
    });
    const [base, other] = report.variants.map((variant, n) => ({
      ...variant,
      name: text(n === 0 ? "base" : "variant", i),
      scores: { [text("key", i)]: variant.scores.refund },
    }));
    const one = {
      runId: `a${i}`,
      forkId: `k${i}`,
      label: text("case", i),
      scored: [{ name: text("given", i), value: 0, note: text("givenNote", i) }],
      variant: text("variant", i),
      verdict: "worse",
      before: { [text("key", i)]: 1 },
      after: { [text("key", i)]: 0 },
      beforeText: text("before", i),
      afterText: text("after", i),
      reason: null,
    };
    const data = {
      ...report,
      name: text("evalName", i),
      scores: [text("key", i)],
      variants: [base, other],
      cases: [one, { ...one, forkId: "none", label: null, reason: text("reason", i) }],
      providerTools: [text("tool", i)],
      checks: [{ text: text("check", i), passed: false }],
    };
    await runEval(app, kept.definition, data, { id: `e${i}`, eval: name("eval", i) });
  }
}

/** What a report of an eval shows. */
const ofReport = [
  "base",
  "variant",
  "key",
  "case",
  "given",
  "givenNote",
  "before",
  "after",
  "reason",
  "check",
];

/** Each screen, and the fields that it shows. */
const screens: readonly (readonly [string, readonly string[]])[] = [
  ["/", ["asks", "failure", "question", "words", "tag", "label", "fails"]],
  ["/inbox", ["question"]],
  ["/cost", ["model", "by", "tag", "fails"]],
  ["/evals", ["eval", "best"]],
  ["/operate", ["idle"]],
  ["/operate?tab=workers", ["worker", "words", "says", "stopped", "talks"]],
  ["/operate?tab=limits", ["quota", "slot"]],
];

describe.skipIf(skipReason !== null)("hostile text beside runs", () => {
  let browser: Browser;
  beforeAll(async () => void (browser = await openBrowser()));
  afterAll(() => browser?.close());

  test.each(chunks.map((some) => [some] as const))(
    "texts %j: none runs, none is markup, none turns others around",
    async (some) => {
      const { app, close } = await troubled(some);
      const site = await serveDashboard({ app, port: 0 });
      const one = await Visitor.open(browser, site.url, { bypassCSP: true, height: 3_000 });
      await one.says(`failure${some[0]}`);
      await one.page.evaluate("window.__hits = 0; window.__hit = () => (window.__hits += 1);");
      const check = async (where: string, fields: readonly string[], of = some): Promise<void> => {
        const wanted = fields.flatMap((field) => of.map((i) => `${field}${i}. ⟨U+202E⟩`));
        const missing = async (): Promise<string[]> => {
          const shown = (await one.page.locator("#app").textContent()) ?? "";
          return wanted.filter((each) => !shown.includes(each));
        };
        await expect.poll(missing, { ...soon, message: where }).toEqual([]);
        expect(await strange(one), where).toEqual([]);
        expect(await one.page.evaluate("window.__hits"), where).toBe(0);
      };
      for (const [path, fields] of screens) {
        await within(one, path);
        await check(path, fields);
      }
      await one.page.keyboard.press("Control+k");
      await one.page.keyboard.type("failure");
      await check("palette", ["fails"]);
      await one.page.keyboard.press("Escape");
      await one.page.locator("#search").fill("workflow:asks");
      await check("suggestions", ["asks"]);
      for (const i of some) {
        await within(one, `/runs/p${i}`);
        await check("a paused run", ["paused"], [i]);
        await within(one, `/runs/a${i}`);
        await check("a run that asks", ["report", "question"], [i]);
        await within(one, `/evals/e${i}`);
        await check("a report of an eval", ofReport, [i]);
      }
      expect(await one.page.evaluate("window.__hits")).toBe(0);
      expect(new URL(one.page.url()).origin).toBe(site.origin);
      await one.close();
      await site.close();
      await close();
    },
  );
});

/** Within the page, as its links go. */
function within(one: Visitor, path: string): Promise<void> {
  return one.page.evaluate((to) => {
    history.pushState(null, "", to);
    dispatchEvent(new PopStateEvent("popstate"));
  }, path);
}

/** Elements that the page never makes, and texts and names that turn others around. */
function strange(one: Visitor): Promise<string[]> {
  return one.page.evaluate(() => {
    const bad =
      "img,iframe,object,embed,video,audio,math,base,template,plaintext,x,body *[srcdoc],meta[http-equiv=refresh],link:not([rel=stylesheet]),main script,main style,main link";
    const found = [...document.querySelectorAll(bad)].map((each) => each.outerHTML.slice(0, 100));
    const turns = /[\u202a-\u202e\u2066-\u2069]/;
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = texts.nextNode(); node !== null; node = texts.nextNode())
      if (turns.test(node.nodeValue ?? ""))
        found.push(`turned: ${node.parentElement?.outerHTML.slice(0, 100)}`);
    for (const each of document.querySelectorAll("*"))
      for (const { name: attribute, value } of each.attributes) {
        if (attribute.startsWith("on")) found.push(`${attribute}=${value}`);
        if (/^(?:title|aria-label|placeholder|alt)$/.test(attribute) && turns.test(value))
          found.push(`${attribute}=${value}`);
        if (
          /^(?:href|src|action|formaction)$/.test(attribute) &&
          /^\s*(?:javascript|data|vbscript):/i.test(value)
        )
          found.push(`${attribute}=${value}`);
      }
    return found;
  });
}
