/** Evals beside what else runs may have: buckets, encryption, copies, children, chapters, ends, and failures on the way. */

import {
  copyRuns,
  createApp,
  durable,
  FatalError,
  MemoryStorage,
  RetryError,
  type App,
  type AppOptions,
  type Context,
  type Storage,
} from "@durable/core";
import { aesGcm } from "@durable/core/encryption";
import { locatorOf } from "@durable/core/inspect";
import { MemoryBucket, RemoteStorage } from "@durable/core/remote";
import { scriptedModel, virtualWorld } from "@durable/testing";
import { describe, expect, test } from "vitest";
import { evaluate, exact, judge, removeEval, type EvalOptions, type Report } from "../src/index.ts";

type Answer = (question: string) => unknown;

/** Workflows that ask one question: with a child, as a child, and in each of three chapters. */
function workflows(answer: Answer, did: (what: string) => void = () => {}) {
  const ask = (ctx: Context, question: string) =>
    ctx.step(
      "ask",
      ({ meter }) => {
        meter({ model: "m", inputTokens: 100, outputTokens: 10 });
        return answer(question);
      },
      { model: true },
    );
  const kid = durable("kid", async (ctx: Context, question: string) => {
    await ctx.step("log", () => did("log"));
    return ask(ctx, question);
  });
  const parent = durable("parent", async (ctx: Context, question: string) => {
    if (question === "nothing") throw new Error("before any question");
    const own = await ask(ctx, question);
    const below = await ctx.child(kid, `below ${question}`);
    await ctx.step("mail", () => did("mail"));
    return below === null ? null : own;
  });
  const chapters = durable("chapters", async (ctx: Context, chapter: number) => {
    const own = await ask(ctx, `chapter ${chapter}`);
    await ctx.step("mail", () => did("mail"));
    return chapter < 3 ? ctx.continueAs(chapter + 1) : own;
  });
  return [kid, parent, chapters];
}

const prices = { m: { input: 10_000, output: 0 } };

/** An app whose workflows answer as they did when the runs were recorded. */
function recorder(options: Partial<AppOptions> = {}, answer: Answer = (question) => `old ${question}`) {
  const effects: string[] = [];
  const storage = options.storage ?? new MemoryStorage();
  const own = { storage, prices, secret: "0123456789abcdef-eval", bind: false };
  const app = createApp({ ...own, workflows: workflows(answer, (what) => effects.push(what)), ...options });
  return { app, storage, effects };
}

const codeOf = (answer: Answer) => ({
  name: "v",
  app: createApp({ storage: new MemoryStorage(), workflows: workflows(answer), bind: false }),
});

function run(app: App, runs: EvalOptions["runs"], more: Partial<EvalOptions> = {}): Promise<Report> {
  const variants = [codeOf((question) => `new ${question}`)];
  return evaluate(app, { name: "n", from: "ask", runs, variants, score: { same: exact() }, ...more });
}

const key = () => aesGcm({ keys: { k: crypto.getRandomValues(new Uint8Array(32)) }, current: "k" });

async function journals(storage: Storage, runIds: readonly string[]): Promise<string> {
  const replies = await Promise.all(runIds.map((runId) => storage.read(locatorOf(runId))));
  return JSON.stringify(replies.map(({ batches }) => batches));
}

/** How long answers took is all that differs when they are asked anew. */
const withoutTimes = (report: Report): string =>
  JSON.stringify(report, (name, value: unknown) => (name === "time" ? null : value));

const judgeOf = (answer: () => string) =>
  scriptedModel(() => `{"score": ${answer()}, "reason": "so"}`, { modelId: "judge" });

describe.each([
  ["in memory", () => new MemoryStorage()],
  ["in a bucket", () => new RemoteStorage(new MemoryBucket())],
] as const)("%s", (_, storageOf) => {
  test.each([
    ["plain", undefined],
    ["encrypted", key()],
  ])(
    "runs with children, children and chapters are asked once, without effects: %s",
    async (__, encryption) => {
      const { app, storage, effects } = recorder({ storage: storageOf(), ...(encryption && { encryption }) });
      await app.run("parent", "Lovelace", { id: "p" });
      await app.run("chapters", 1, { id: "c" });
      const { runs: kids } = await app.list({ workflow: "kid" });
      const ids = ["p", "c", ...kids.map(({ runId }) => runId)];
      await app.get("p").score("helpful", 0.5, "so so");
      const [before, done] = [await journals(storage, ids), effects.length];
      const model = judgeOf(() => "1");
      const score = { same: exact(), kind: judge({ model, criteria: "Is it kind?" }) };
      const report = await run(app, ids, { score });
      expect(report.cases.map(({ afterText }) => afterText).toSorted()).toEqual([
        "new Lovelace",
        "new below Lovelace",
        "new chapter 3",
      ]);
      expect(report.variants[1]).toMatchObject({ n: 3, worse: 3, paid: { calls: 3, cost: 3 } });
      expect([effects.length, model.calls.length]).toEqual([done, 6]);
      expect(JSON.stringify(await run(app, ids, { score }))).toBe(JSON.stringify(report));
      expect(model.calls.length).toBe(6);
      expect(await journals(storage, ids)).toBe(before);
      const found = await run(app, { search: "score:helpful<1", limit: 10 });
      expect(found.cases).toMatchObject([{ runId: "p", scored: [{ name: "helpful", value: 0.5 }] }]);
      const made = (await storage.list({ limit: 50 })).runs.filter((head) => head.eval !== undefined);
      const texts = await journals(
        storage,
        made.map(({ runId }) => runId),
      );
      expect(texts.includes("Lovelace")).toBe(encryption === undefined);
      // Two evals share a fork: 3 forks, 6 verdicts, 2 evals, 2 reports.
      expect(await removeEval(app, "n")).toBe(13);
      expect((await app.list({ eval: true })).runs).toEqual([]);
      expect(await journals(storage, ids)).toBe(before);
    },
  );
});

test("with encryption, ids of evals are names under its key", async () => {
  const idsOf = async (encryption?: AppOptions["encryption"]): Promise<string[]> => {
    const { app } = recorder({ ...(encryption && { encryption }), world: virtualWorld() });
    await app.run("parent", "a", { id: "p" });
    const kind = judge({ model: judgeOf(() => "1"), criteria: "c" });
    await run(app, ["p"], { score: { kind } });
    return (await app.list({ eval: true })).runs.map(({ runId }) => runId);
  };
  const [one, other] = [key(), key()];
  const [plain, first, again, second] = [
    await idsOf(),
    await idsOf(one),
    await idsOf(one),
    await idsOf(other),
  ];
  expect(plain).toHaveLength(5);
  expect(again.toSorted()).toEqual(first.toSorted());
  expect([plain, first, second].flat()).toHaveLength(new Set([plain, first, second].flat()).size);
});

test("a copy of runs and their evals has the same report, and pays nothing", async () => {
  const { app, storage } = recorder();
  for (const id of ["a", "b"]) await app.run("parent", id, { id });
  let asked = 0;
  const variants = [codeOf((question) => ((asked += 1), `new ${question}`))];
  const report = await run(app, ["a", "b"], { variants });
  const to = new MemoryStorage();
  await copyRuns(storage, to);
  const { app: copy } = recorder({ storage: to });
  expect(JSON.stringify(await run(copy, ["a", "b"], { variants }))).toBe(JSON.stringify(report));
  expect(asked).toBe(2);
  expect((await copy.list()).runs).toHaveLength(4);
  // Without the evals it is paid again, and the forks have the same names.
  const originals = new MemoryStorage();
  await copyRuns(storage, originals, { filter: (head) => head.eval === undefined });
  const { app: anew } = recorder({ storage: originals });
  expect(withoutTimes(await run(anew, ["a", "b"], { variants }))).toBe(withoutTimes(report));
  expect(asked).toBe(4);
});

test("a run that never came to the cut, or is deleted meanwhile, has failed, and the others are asked", async () => {
  const { app } = recorder();
  for (const id of ["a", "b", "c"]) await app.run("parent", id, { id });
  await app.run("parent", "nothing", { id: "d" });
  const variants = [
    codeOf(async (question) => {
      if (question === "a") for (const id of ["a", "b"]) await app.delete(id);
      return `new ${question}`;
    }),
  ];
  const report = await run(app, ["a", "b", "c", "d"], { variants, concurrency: 1 });
  // Two that asked nothing cost nothing, and the sum is known.
  expect(report.variants[1]).toMatchObject({ n: 2, worse: 2, failed: 2, paid: { calls: 2, cost: 2 } });
  const reasons = new Map(report.cases.map(({ runId, reason }) => [runId, reason]));
  expect(reasons.get("b")).toBe("There is no run b in this storage. Check the id and the storage.");
  expect(reasons.get("d")).toBe('Run d has no step "ask". It has recorded no steps yet.');
  // What is gone before an eval begins is named.
  await expect(run(app, ["b", "c"])).rejects.toThrow("There is no run b");
  expect((await run(app, { workflow: "parent", status: "completed", limit: 9 })).runs).toBe(1);
});

test("an eval whose judge failed goes on when it is called again, and asks nothing twice", async () => {
  const { app } = recorder();
  for (const id of ["a", "b", "c"]) await app.run("parent", id, { id });
  let [asked, isDown] = [0, true];
  const variants = [codeOf((question) => ((asked += 1), `new ${question}`))];
  const model = scriptedModel(
    (_, { question }) => {
      if (isDown && !question.includes("old a")) throw new FatalError("the provider is down");
      return '{"score": 1}';
    },
    { modelId: "judge" },
  );
  const score = { kind: judge({ model, criteria: "c" }) };
  await expect(run(app, ["a", "b", "c"], { variants, score })).rejects.toThrow(
    /is failed \(run eval-.*The judge of run . gave no answer.*call evaluate again/,
  );
  isDown = false;
  const report = await run(app, ["a", "b", "c"], { variants, score });
  expect(report.variants[1]).toMatchObject({ n: 3, scores: { kind: { n: 3, mean: 1 } } });
  expect(asked).toBe(3);
  const about = model.calls.filter(({ question }) => question.includes("old a"));
  expect(about).toHaveLength(1);
  // An answer that is no verdict is asked for again, alone.
  const words = scriptedModel(
    (_, { question }) => (isDown || question.includes("old") ? '{"score": 0}' : "No."),
    {
      modelId: "words",
    },
  );
  const ask = () => run(app, ["a"], { score: { kind: judge({ model: words, criteria: "c" }) } });
  await expect(ask()).rejects.toThrow(/The judge of run a .*call evaluate again/);
  isDown = true;
  expect((await ask()).variants[1]?.scores["kind"]?.mean).toBe(0);
  expect(words.calls).toHaveLength(3);
});

test("a judge that must wait for its provider is waited for", async () => {
  const world = virtualWorld();
  const { app } = recorder({ world, storage: new MemoryStorage({ now: () => world.now() }) });
  await world.run(app.run("parent", "a", { id: "a" }));
  let isBusy = true;
  const model = judgeOf(() => {
    if (!isBusy) return "1";
    isBusy = false;
    throw new RetryError("busy", { after: "1 hour" });
  });
  const report = await world.run(run(app, ["a"], { score: { kind: judge({ model, criteria: "c" }) } }));
  expect(report.variants[1]?.scores["kind"]?.mean).toBe(1);
});

test("a signal ends the eval, which goes on when it is called again", async () => {
  const { app } = recorder();
  const ids = ["a", "b", "c"];
  for (const id of ids) await app.run("parent", id, { id });
  const end = new AbortController();
  const asked: string[] = [];
  const variants = [
    codeOf((question) => {
      asked.push(question);
      if (question === "b") end.abort(new Error("enough"));
      return `new ${question}`;
    }),
  ];
  const options = { variants, concurrency: 1 };
  await expect(run(app, ids, { ...options, signal: end.signal })).rejects.toThrow("enough");
  expect(asked).toEqual(["a", "b"]);
  const {
    variants: [, after],
  } = await run(app, ids, options);
  expect(after).toMatchObject({ n: 3, worse: 3 });
  expect(asked.filter((question) => question !== "b")).toEqual(["a", "c"]);
});

test("an eval that is removed while it works ends, leaves nothing, and begins anew", async () => {
  const { app } = recorder();
  for (const id of ["a", "b"]) await app.run("parent", id, { id });
  let isRemoved = false;
  const variants = [
    codeOf(async (question) => {
      if (!isRemoved) await removeEval(app, "n");
      isRemoved = true;
      return `new ${question}`;
    }),
  ];
  await expect(run(app, ["a", "b"], { variants, concurrency: 1 })).rejects.toThrow(/deleted/);
  expect((await app.list({ eval: true })).runs).toEqual([]);
  expect((await run(app, ["a", "b"], { variants })).variants[1]).toMatchObject({ n: 2, worse: 2 });
});

test("a budget ends an eval, a higher one goes on, and one that cannot be counted ends it, too", async () => {
  const { app, storage } = recorder();
  const ids = ["a", "b", "c"];
  for (const id of ids) await app.run("parent", id, { id });
  let asked = 0;
  const variants = [codeOf((question) => ((asked += 1), `new ${question}`))];
  const within = async (budget: number): Promise<unknown[]> => {
    const report = await run(app, ids, { variants, budget, concurrency: 1 });
    const [, variant] = report.variants;
    return [variant?.n, variant?.skipped, report.paid.cost, asked];
  };
  expect(await within(2)).toEqual([2, 1, 2, 2]);
  expect(await within(2)).toEqual([2, 1, 2, 2]);
  expect(await within(3)).toEqual([3, 0, 3, 3]);
  await expect(within(Number.NaN)).rejects.toThrow("a budget of NaN");
  const { app: unpriced } = recorder({ storage, prices: {} });
  const report = await run(unpriced, ids, { name: "other", variants, budget: 3, concurrency: 1 });
  expect(report.variants[1]).toMatchObject({ n: 1, skipped: 2, paid: { cost: null } });
  expect(report.cases.find(({ verdict }) => verdict === "skipped")?.reason).toMatch(/price .* is not known/);
});

test("a threshold is missed where forks failed, counts its own score, and has no other fields", async () => {
  const { app } = recorder();
  for (const id of ["a", "b"]) await app.run("parent", id, { id });
  const variants = [
    codeOf((question) => {
      if (question === "a") throw new FatalError("no");
      return `old ${question}`;
    }),
  ];
  const score = { same: exact(), short: ({ variant }: { readonly variant: string }) => variant === "record" };
  const checksOf = async (thresholds: object): Promise<Report["checks"]> =>
    (await run(app, ["a", "b"], { variants, score, thresholds: thresholds as never })).checks;
  expect(await checksOf({ same: { worse: 0 }, short: { worse: 1 } })).toEqual([
    { text: "v: at most 0 runs get worse (0 do, and 1 failed)", passed: false },
    { text: "v: at most 1 runs get worse (1 do, and 1 failed)", passed: false },
  ]);
  expect(await checksOf({ same: { worse: 1 }, short: { worse: 2 } })).toMatchObject([
    { passed: true },
    { passed: true },
  ]);
  expect(await checksOf({ misspelt: { worse: 9 } })).toMatchObject([{ passed: false }]);
  await expect(checksOf({ same: { wors: 0 } })).rejects.toThrow('has no option "wors"');
  await expect(checksOf({ same: { min: Number.NaN } })).rejects.toThrow('"min" of NaN');
});

test("values that JSON does not have are compared, shown and judged", async () => {
  const values: Readonly<Record<string, readonly [old: unknown, now: unknown]>> = {
    big: [5n, 6n],
    map: [new Map([["a", 1]]), new Map([["a", 2]])],
    set: [new Set([1, 2]), new Set([1, 2])],
    date: [new Date(0), new Date(1)],
  };
  const { app } = recorder({}, (question) => values[question]?.[0] ?? question);
  for (const id of Object.keys(values)) await app.run("parent", id, { id });
  const score = { same: exact(), kind: judge({ model: judgeOf(() => "1"), criteria: "c" }) };
  const variants = [codeOf((question) => values[question]?.[1] ?? question)];
  const report = await run(app, Object.keys(values), { variants, score });
  const verdicts = new Map(report.cases.map(({ runId, verdict }) => [runId, verdict]));
  expect(Object.fromEntries(verdicts)).toEqual({ big: "worse", map: "worse", set: "same", date: "worse" });
  expect(report.cases.find(({ runId }) => runId === "map")?.afterText).toBe('[["a",2]]');
});

test("forks that failed are asked again once they and the run of the eval are deleted, and no others", async () => {
  const { app } = recorder();
  for (const id of ["a", "b"]) await app.run("parent", id, { id });
  const asked: string[] = [];
  const variants = [
    codeOf((question) => {
      asked.push(question);
      if (asked.length === 1) throw new FatalError("overloaded");
      return `new ${question}`;
    }),
  ];
  const report = await run(app, ["a", "b"], { variants, concurrency: 1 });
  await run(app, ["a", "b"], { variants, concurrency: 1 });
  for (const { verdict, forkId } of report.cases) if (verdict === "failed") await app.delete(forkId);
  await app.delete(report.id);
  const again = await run(app, ["a", "b"], { variants, concurrency: 1 });
  expect(again.variants[1]).toMatchObject({ n: 2, failed: 0 });
  expect(asked).toEqual(["a", "b", "a"]);
});
