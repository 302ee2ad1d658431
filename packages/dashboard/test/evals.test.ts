/** Reports of evals on the page; scores, and runs that are kept as examples. */

import type { Action } from "@durable/core";
import { describe, expect, inject, test } from "vitest";
import type { EvalList, EvalReport } from "../src/api-evals.ts";
import type { RunList, RunPage } from "../src/api.ts";
import { Site } from "./support/ask.ts";
import { axeProblems } from "./support/axe.ts";
import { picture, skipReason } from "./support/chromium.ts";
import { evaluated, keepReport, report } from "./support/eval-reports.ts";
import { opened } from "./support/opened.ts";
import { soon } from "./support/visitor.ts";

test("the list is read from heads, and a report has what was kept", async () => {
  const site = new Site({ app: await evaluated() });
  expect((await site.get<EvalList>("evals")).reports).toMatchObject([
    {
      runId: "eval-report-1",
      name: "state the policy",
      runs: 40,
      passed: false,
      paid: 1.62,
      best: { name: "policy stated", change: 0.7, worse: 3 },
    },
  ]);
  const shown = await site.get<EvalReport>("evals/eval-report-1");
  expect(shown).toMatchObject({
    name: "state the policy",
    runs: 40,
    scores: ["refund", "kind"],
    more: false,
  });
  expect(shown.variants[2]).toMatchObject({ none: 2, paid: { calls: 40, tokens: 39_200, cost: 0.2 } });
  expect(shown.cases).toHaveLength(80);
  expect(shown.variants.map(({ time }) => time?.p95)).toEqual([22_400, 75_000, 6_900]);
  expect(shown.cases[0]).toMatchObject({
    paid: { calls: 1, tokens: 980, cost: 0.03 },
    reused: { calls: 2, tokens: 1_960, cost: 0.0525 },
  });
  expect(shown.cases[0]).toMatchObject({ verdict: "worse", scored: [{ name: "helpful", value: 0 }] });
  expect((await site.get<RunList>("runs")).runs).toHaveLength(40);
});

test("only a report is one; what it says is not believed, and asks for its own permission", async () => {
  const app = await evaluated();
  const asked: Action[] = [];
  const site = new Site({
    app,
    authorize: (_, action) => (asked.push(action), action.runId !== "eval-report-2"),
  });
  for (const id of ["support-1", "none"]) expect((await site.fetch(`/api/evals/${id}`)).status).toBe(404);
  await keepReport(
    app,
    {
      cases: [7, { runId: {}, verdict: "<b>", before: null, paid: "all" }],
      scores: 1,
      variants: [{ time: { median: "1", p95: 2 } }, { time: 7 }],
    },
    "eval-report-2",
  );
  await keepReport(
    app,
    { ...report, cases: [{ beforeText: "x".repeat(100_000), reason: 1 }, null] },
    "eval-report-3",
  );
  const ask = (path: string): Promise<Response> =>
    site.fetch(`/api/${path}`, { headers: { authorization: "" } });
  expect((await ask("evals/eval-report-2")).status).toBe(403);
  const list = (await (await ask("evals")).json()) as EvalList;
  expect(list.reports.map(({ runId }) => runId)).toEqual(["eval-report-3", "eval-report-1"]);
  expect(asked).toContainEqual({ type: "read", runId: "eval-report-3", workflow: "eval-report" });
  const open = new Site({ app });
  expect(await open.get<EvalReport>("evals/eval-report-2")).toMatchObject({
    scores: [],
    variants: [
      { name: "", time: null },
      { name: "", time: null },
    ],
    cases: [
      { runId: "", verdict: "same", before: {}, paid: { calls: 0, cost: null } },
      { runId: "", verdict: "same", before: {}, paid: { calls: 0, cost: null } },
    ],
  });
  const cut = await open.get<EvalReport>("evals/eval-report-3");
  expect(cut.cases[0]?.beforeText.length).toBe(20_000);
});

test("a score and an example are recorded, found by the search, and taken back", async () => {
  const app = await evaluated();
  const site = new Site({ app });
  const post = (id: string, body: object) => site.post<{ message: string }>(`runs/${id}/score`, body);
  expect(await post("support-1", { name: "helpful", value: 0, note: "too short" })).toMatchObject({
    status: 200,
    body: { message: "The score is recorded." },
  });
  await post("support-2", { example: { label: "the fee", expected: { cents: 1_490 } } });
  const found = async (search: string): Promise<string[]> =>
    (await site.get<RunList>(`runs?score=${encodeURIComponent(search)}`)).runs.map(({ runId }) => runId);
  expect(await found("helpful<1")).toEqual(["support-1"]);
  expect(await found("example")).toEqual(["support-2"]);
  expect((await site.get<{ run?: RunPage } & RunPage>("runs/support-2")).scores ?? []).toMatchObject([
    { name: "example", value: 1, note: '{"label":"the fee","expected":{"cents":1490}}' },
  ]);
  await post("support-2", { name: "example", value: null });
  expect(await found("example")).toEqual([]);
  for (const body of [
    { example: { label: 7 } },
    { example: 1 },
    { name: "two words", value: 1 },
    { more: 1 },
  ])
    expect((await post("support-3", body)).status, JSON.stringify(body)).toBe(400);
  expect((await post("none", { name: "helpful", value: 1 })).status).toBe(404);
});

describe.skipIf(skipReason !== null)("in a browser", () => {
  const site = opened(evaluated);

  test.runIf(inject("full")).each([
    ["light", 1_440],
    ["dark", 1_440],
    ["light", 390],
    ["dark", 390],
  ] as const)("a report: %s at %i", async (theme, width) => {
    const one = await site.current.visit("/evals", { theme, width, height: 1_000 });
    await one.page.getByRole("link", { name: /state the policy/ }).click();
    await one.says("policy stated is better by 70.0 points; 3 runs got worse");
    expect(one.place).toBe("/evals/eval-report-1");
    const text = await one.page.locator("main").innerText();
    expect(text).toMatch(/85\.0 %\s*± 12\.0/);
    expect(text).toMatch(/3 worse, 31 better, 6 the same/);
    expect(text).toContain("154 answers paid, 74 of them by judges");
    expect(text).toMatch(
      /Time, median[\s\S]*6\.2 s\s*p95 22\.4 s\s*5\.8 s\s*p95 1 min 15 s\s*940 ms\s*p95 6\.9 s/,
    );
    expect(text).toContain("2 of 3 answers reused: $0.0300 paid, $0.0525 saved");
    expect(text).toMatch(/missed policy stated: at most 0 runs get worse/);
    expect(text).toContain("“Do I get the fee of order 0 back?” <b>");
    const cases = one.page.locator(".eval-case");
    await expect.poll(() => cases.count(), soon).toBe(3);
    expect((await cases.first().locator("ins").allInnerTexts()).join(" ")).toContain("14.90 EUR");
    expect(await one.fits()).toBe(true);
    expect(await axeProblems(one.page)).toEqual([]);
    await picture(one.page, `evals-${theme}-${width}`);
    await one.close();
  });

  test.runIf(inject("full"))("kinds of runs, variants and keys; a run is kept as an example", async () => {
    const one = await site.current.visit("/evals/eval-report-1");
    const cases = one.page.locator(".eval-case");
    await one.page.getByRole("button", { name: /Better/ }).click();
    await expect.poll(() => cases.count(), soon).toBe(31);
    await one.page.getByLabel("Variant", { exact: true }).selectOption("small model");
    await expect.poll(() => cases.count(), soon).toBe(11);
    await one.page.getByRole("button", { name: /No answer/ }).click();
    await expect.poll(() => cases.count(), soon).toBe(2);
    await one.says("the record has no outcome of it");
    await one.page.getByRole("button", { name: /Worse/ }).click();
    await expect.poll(() => cases.count(), soon).toBe(9);
    await one.page.keyboard.press("j");
    await one.page.keyboard.press("j");
    await expect
      .poll(() => cases.nth(1).evaluate((element) => element === document.activeElement), soon)
      .toBe(true);
    await cases.nth(1).getByRole("button", { name: "Keep as example" }).click();
    await one.page.getByLabel(/Label/).fill("the fee of order 1");
    await one.page.getByLabel(/Expected answer/).fill("14.90 EUR");
    expect(await axeProblems(one.page)).toEqual([]);
    await one.button("Keep it").click();
    await one.says("The run is kept as an example.");
    expect((await site.current.app.list({ q: "support-1" })).runs.at(-1)?.scores).toEqual({ example: 1 });
    await one.close();
  });

  test.runIf(inject("full"))("the page of a run shows its scores, and gives one", async () => {
    const one = await site.current.visit("/runs/support-5");
    await one.button("Score").click();
    await one.page.getByRole("textbox", { name: /^Score/ }).fill("0.5");
    await one.page.getByLabel(/Why/).fill("half of it");
    await one.button("Record the score").click();
    await one.page.getByRole("link", { name: "helpful 0.5" }).waitFor();
    await picture(one.page, "run-scores");
    await one.button("Keep as example").click();
    await one.page.getByLabel(/Label/).fill("an order");
    await one.button("Keep it").click();
    await one.page.getByRole("link", { name: "example" }).waitFor();
    await one.page.getByRole("link", { name: "helpful 0.5" }).click();
    await expect.poll(() => one.lines(), soon).toEqual([expect.stringContaining("support-5")]);
    expect(one.place).toContain("score=helpful");
    await one.close();
  });
});
