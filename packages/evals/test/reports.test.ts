import { expect, test } from "vitest";
import { createApp, durable, MemoryStorage, type Context } from "@durable/core";
import { exampleNote, exampleScore } from "@durable/core/inspect";
import { scriptedModel } from "@durable/testing";
import {
  evaluate,
  exact,
  fitsSchema,
  judge,
  pairwise,
  sameFields,
  type EvalOptions,
  type Report,
} from "../src/index.ts";

/** Runs whose one step is a model of their own: `draft` is asked again, in the code of the variant. */
function drafts(answers: readonly unknown[]) {
  const storage = new MemoryStorage();
  const flow = (answer: (i: number) => unknown) =>
    durable("draft", (ctx: Context, i: number) =>
      ctx.step(
        "draft",
        ({ meter }) => {
          meter({ model: "m", inputTokens: 100, outputTokens: 10 });
          return answer(i);
        },
        { model: true },
      ),
    );
  const prices = { m: { input: 10_000, output: 0 }, judge: { input: 0, output: 0 } };
  const app = createApp({ storage, workflows: [flow((i) => answers[i])], bind: false, prices });
  const variant = (name: string, answer: (i: number) => unknown) => ({
    name,
    app: createApp({ storage: new MemoryStorage(), workflows: [flow(answer)], bind: false }),
  });
  const run = async (
    given: Pick<EvalOptions, "variants" | "score"> & Partial<EvalOptions>,
  ): Promise<Report> => {
    for (const i of answers.keys()) await app.run("draft", i, { id: `run-${i}` });
    const runs = answers.map((_, i) => ({ runId: `run-${i}`, label: `case <${i}>` }));
    return evaluate(app, { name: "drafts", runs, from: "draft", ...given });
  };
  return { app, run, variant };
}

test("a threshold that is missed fails the report, in every form", async () => {
  const { run, variant } = drafts(["a", "b", "c <script>", "d"]);
  const worse = variant("worse", (i) => (i === 2 ? "x & y" : ["a", "b", "", "d"][i]));
  const report = await run({
    variants: [worse],
    score: { same: exact() },
    thresholds: { same: { min: 0.8, worse: 0, drop: 0.3 } },
  });
  expect(report.passed).toBe(false);
  expect(report.checks.map(({ passed }) => passed)).toEqual([false, true, false]);
  expect(report.variants[1]).toMatchObject({ n: 4, worse: 1, same: 3, scores: { same: { mean: 0.75 } } });
  expect(report.text()).toContain("MISS worse: same is at least 0.8 (it is 0.75)");
  expect(report.markdown()).toContain("**missed**: worse: same is at least 0.8");
  expect(report.markdown()).toContain("~~c &lt;script&gt;~~ **x &amp; y**");
  const html = report.html();
  expect(html).toContain("<del>c &lt;script&gt;</del>");
  expect(html).toContain("case &lt;2&gt;");
  expect(html).not.toMatch(/<script|https?:|\son\w+="/);
  expect(JSON.parse(JSON.stringify(report))).toMatchObject({ name: "drafts", runs: 4, passed: false });
  const kept = await run({
    variants: [worse],
    score: { same: exact() },
    thresholds: { same: { min: 0.7, worse: 1 } },
  });
  expect(kept.passed).toBe(true);
});

test("the budget ends the eval early, and says what was not tried", async () => {
  const { run, variant } = drafts(["a", "b", "c", "d"]);
  const report = await run({
    variants: [variant("v", () => "x")],
    score: { same: exact() },
    budget: 2,
    concurrency: 1,
  });
  expect(report.variants[1]).toMatchObject({ n: 2, skipped: 2, worse: 2, paid: { cost: 2 } });
});

test("fields and schemas are scored, and a score of null does not count", async () => {
  const { run, variant } = drafts([
    { a: 1, b: [2, 3] },
    { a: 1, b: [] },
  ]);
  const schema = {
    "~standard": {
      version: 1 as const,
      vendor: "test",
      validate: (value: unknown) =>
        typeof (value as { a?: unknown }).a === "number" ? { value } : { issues: [{ message: "no a" }] },
    },
  };
  const report = await run({
    variants: [variant("v", (i) => (i === 0 ? { a: 1, b: [2, 4] } : { b: [] }))],
    score: {
      fields: sameFields(),
      valid: fitsSchema(schema),
      first: ({ runId }) => (runId === "run-0" ? 1 : null),
    },
  });
  expect(report.variants[1]?.scores).toMatchObject({
    fields: { mean: (2 / 3 + 1 / 2) / 2 },
    valid: { mean: 0.5 },
    first: { n: 1, mean: 1 },
  });
});

test("a pair is judged in both orders, a judge that prefers a place is a draw, and nothing is asked twice", async () => {
  const { run, variant } = drafts(["old", "old and long"]);
  // It prefers the word "good", and otherwise whatever comes first.
  const model = scriptedModel(
    (_, { question }) => {
      const { A, B } = JSON.parse(question) as { readonly A: string; readonly B: string };
      const better = A.includes("good") ? "A" : B.includes("good") ? "B" : "A";
      return `Well: {"better": "${better}", "reason": "because"}`;
    },
    { modelId: "judge" },
  );
  const given = {
    variants: [variant("v", (i) => (i === 0 ? "good" : "new"))],
    score: { better: pairwise({ model, criteria: "Which is clearer?" }) },
  };
  const report = await run(given);
  expect(report.cases.map(({ runId, after, verdict }) => [runId, after["better"], verdict])).toEqual([
    ["run-0", 1, "better"],
    ["run-1", 0.5, "same"],
  ]);
  expect(model.calls.length).toBe(4);
  expect(report.judges.calls).toBe(4);
  await run(given);
  // Another variant beside it is all that is asked.
  await run({ ...given, variants: [...given.variants, variant("w", () => "good, too")] });
  expect(model.calls.length).toBe(8);
});

test("a judge that gives no verdict is an error that says what to do", async () => {
  const { run, variant } = drafts(["old"]);
  const model = scriptedModel(() => "I would rather not.", { modelId: "judge" });
  const score = { kind: judge({ model, criteria: "Is it kind?" }) };
  await expect(run({ variants: [variant("v", () => "new")], score })).rejects.toThrow(
    /is failed \(run eval-/,
  );
});

test("what people thought of the recorded runs is in the report, and a later score asks nothing again", async () => {
  const { app, run, variant } = drafts(["a", "b"]);
  let asked = 0;
  const options = {
    variants: [variant("v", (i) => (asked++, i === 0 ? "x" : "b"))],
    score: { same: exact(), agrees: ({ given: [one] }) => one?.value ?? null },
  } satisfies Partial<EvalOptions>;
  await run(options);
  expect(asked).toBe(2);
  await app.get("run-0").score("helpful", 0, "it <guesses>");
  const report = await run(options);
  expect(asked).toBe(2);
  expect(report.cases[0]?.scored).toEqual([{ name: "helpful", value: 0, note: "it <guesses>" }]);
  expect(report.variants[0]?.scores["agrees"]).toMatchObject({ n: 1, mean: 0 });
  expect(report.text()).toContain("the record has helpful 0 (it <guesses>)");
  expect(report.markdown()).toContain("The record has helpful 0 \\(it &lt;guesses&gt;\\).");
  expect(report.html()).toContain("helpful, of the record");
});

test("runs that are kept as examples bring their label and the expected answer", async () => {
  const { app, run, variant } = drafts(["a", "b", "c"]);
  await run({ variants: [variant("v", () => "x")], score: { same: exact() } });
  await app.get("run-1").score(exampleScore, true, exampleNote({ label: "the second", expected: "right" }));
  await app.get("run-2").score(exampleScore, true, "in my own words");
  const report = await evaluate(app, {
    name: "examples",
    runs: { search: "score:example>0 workflow:draft", limit: 10 },
    from: "draft",
    variants: [variant("v", () => "right")],
    score: { right: exact() },
  });
  expect(report.cases.map(({ label, verdict }) => [label, verdict])).toEqual([
    ["in my own words", "worse"],
    ["the second", "better"],
  ]);
  const wrong = evaluate(app, {
    name: "examples",
    runs: { search: "score>1", limit: 10 },
    variants: [variant("v", () => "right")],
    score: { right: exact() },
  });
  await expect(wrong).rejects.toThrow(/score:>1 is no score/);
});

test("a report is kept as a run of its eval, once for what it says", async () => {
  const { app, run, variant } = drafts(["a", "b"]);
  const options = { variants: [variant("v", () => "a")], score: { same: exact() } };
  const report = await run(options);
  await run(options);
  const kept = await app.list({ workflow: "eval-report", eval: true });
  expect(kept.runs).toMatchObject([
    {
      eval: "drafts",
      status: "completed",
      report: { runs: 2, passed: true, best: { name: "v", change: -0.5, worse: 1 } },
    },
  ]);
  const [first] = await app.get(kept.runs[0]!.runId).entries();
  expect(first).toMatchObject({ input: JSON.parse(JSON.stringify(report)) });
  expect((await app.list({})).runs.map(({ workflow }) => workflow)).toEqual(["draft", "draft"]);
});
