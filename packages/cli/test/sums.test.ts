/** One number for what a run cost: on the page, in the command line, over MCP, in lists, in the sums of the app, and in metrics. */

import { createApp, durable, FatalError, type App, type ListedRun } from "@durable/core";
import { costIn, costText } from "@durable/core/inspect";
import { SqliteStorage } from "@durable/core/sqlite";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, inject, test } from "vitest";
import { spentFigures } from "../../dashboard/page/lib/spent.ts";
import type { ChildSums, RunList, RunPage } from "../../dashboard/src/api.ts";
import { Site } from "../../dashboard/test/support/ask.ts";
import { telemetry, type TelemetryOptions } from "../../otel/src/index.ts";
import { openSession } from "../src/session.ts";
import { readers } from "../src/mcp/readers.ts";
import { Terminal } from "../src/terminal.ts";
import { Project } from "./support/lab.ts";

const project = new Project();
afterAll(() => project.remove());

const prices = { m: { input: 1, output: 2 }, n: { input: 3, output: 5 } };

/** What a generated run does: each call uses tokens, fails so often, and may be a child. */
interface Call {
  readonly name: string;
  readonly model: "m" | "n";
  readonly tokens: number;
  readonly fails: number;
  readonly child: boolean;
}

const done = new Map<string, number>();

const work = durable("work", async (ctx, calls: readonly Call[]) => {
  for (const [i, { name, model, tokens, fails, child }] of calls.entries()) {
    if (child) {
      await ctx.child(work, [{ name, model, tokens, fails: 0, child: false }]);
      continue;
    }
    await ctx.step(
      `call ${i}`,
      (info) => {
        info.meter({ model, inputTokens: tokens, outputTokens: 7 });
        const tried = (done.get(name) ?? 0) + 1;
        done.set(name, tried);
        // The first failure is retried by the step, the second one ends the run.
        if (tried <= fails) throw tried === 2 ? new FatalError("no") : new Error("not yet");
        return tokens;
      },
      { retry: { attempts: 2, delay: 0 } },
    );
  }
});

/** A meter that only sums up, by the name of a counter and its attributes. */
function summing(): {
  readonly meter: TelemetryOptions["meter"];
  readonly sum: (name: string, about?: object) => number;
} {
  const added: { readonly name: string; readonly by: number; readonly about: object }[] = [];
  const make = (name: string): object => ({
    add: (by: number, about: object) => added.push({ name, by, about }),
    record: () => {},
  });
  const made = ["createCounter", "createUpDownCounter", "createHistogram"].map(
    (kind) => [kind, make] as const,
  );
  return {
    meter: Object.fromEntries(made) as unknown as TelemetryOptions["meter"],
    sum: (name, about = {}) => {
      const wanted = Object.entries(about);
      return added
        .filter(
          (one) => one.name === name && wanted.every(([key, value]) => Reflect.get(one.about, key) === value),
        )
        .reduce((all, { by }) => all + by, 0);
    },
  };
}

async function generate(app: App, runs: number): Promise<string[]> {
  let state = 7;
  const random = (below: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
  const ids: string[] = [];
  for (let n = 0; ids.length < runs; n++) {
    const calls = Array.from({ length: 1 + random(4) }, (_, i): Call => {
      const model = random(2) === 0 ? "m" : "n";
      return {
        name: `${n} ${i}`,
        model,
        tokens: 1 + random(5_000),
        fails: random(3),
        child: random(5) === 0,
      };
    });
    const id = `r${n}`;
    ids.push(id);
    const run = await app.start(work, calls, { id });
    await run.result().catch(() => {});
    for (let tries = 0; (await run.outcome()).status === "failed" && tries < 5; tries++) {
      await run.retry();
      await run.result().catch(() => {});
    }
    if (random(3) > 0) continue;
    const keys = (await run.entries()).flatMap((entry) =>
      entry.kind === "step.completed" ? [entry.key] : [],
    );
    const from = keys[random(keys.length)];
    if (from === undefined || ids.length === runs) continue;
    const fork = await run.fork({ from, id: `${id}-fork` });
    ids.push(fork.id);
    await fork.result().catch(() => {});
  }
  return ids;
}

/** What a run and all children below it cost, from the heads alone. */
function withBelow(heads: ReadonlyMap<string, ListedRun>): (runId: string) => number {
  const children = new Map<string, string[]>();
  for (const { runId, parent, ancestors } of heads.values())
    if (parent !== null && ancestors.length === 0)
      children.set(parent, [...(children.get(parent) ?? []), runId]);
  const sum = (runId: string): number =>
    (children.get(runId) ?? []).reduce(
      (all, child) => all + sum(child),
      costIn(heads.get(runId)!, prices) ?? 0,
    );
  return sum;
}

interface Item {
  readonly runId: string;
  readonly cost?: number | null;
}

interface Shown {
  readonly totals: { readonly spent: { readonly cost: number | null } };
  readonly spent: {
    readonly own: { readonly cost: number | null };
    readonly all: { readonly cost: number | null };
  };
}

test("page, command line, MCP, lists, sums and metrics agree on generated runs with retries, forks and children", async () => {
  mkdirSync(join(project.folder, ".durable"), { mode: 0o700 });
  writeFileSync(join(project.folder, "prices.json"), JSON.stringify(prices));
  const storage = new SqliteStorage(join(project.folder, ".durable", "journal.db"));
  // The prices of the app are all that metrics need.
  const { meter, sum } = summing();
  const { hooks } = telemetry({ meter, tracer: false });
  const app = createApp({ storage, workflows: [work], prices, hooks });
  const made = await generate(app, inject("full") ? 500 : 25);
  const heads = new Map<string, ListedRun>();
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await app.list({ limit: 100, cursor });
    for (const head of page.runs) heads.set(head.runId, head);
    cursor = page.next;
  }
  const costs = new Map([...heads].map(([runId, head]) => [runId, costIn(head, prices) ?? 0]));
  const below = withBelow(heads);
  expect(made.filter((id) => !costs.has(id))).toEqual([]);
  expect([...costs.values()].filter((cost) => cost > 0).length).toBeGreaterThan(made.length / 2);

  const streams = {
    stdout: { write: () => true },
    stderr: { write: () => true },
    stdin: process.stdin,
    env: {},
    cwd: project.folder,
  };
  const session = await openSession({ prices: "prices.json" }, false, {
    streams,
    term: new Terminal(streams),
  });
  const tools = readers(session, Date.now);
  const showRun = tools.find(({ name }) => name === "show_run")!;
  const site = new Site({ app, prices });
  const onPage = await site.get<RunList>(`runs?limit=200&workflow=work`);
  const inCli = (await project.json(["ls", "-n", "5000", "--prices", "prices.json"]))["runs"] as Item[];
  const listRuns = tools.find(({ name }) => name === "list_runs")!;
  const overMcp = (await listRuns.call({ limit: 200 })) as unknown as { readonly runs: readonly Item[] };
  expect(inCli).toHaveLength(heads.size);
  for (const { runId, cost } of [...onPage.runs, ...inCli, ...overMcp.runs])
    expect(cost ?? 0, `a line of ${runId}`).toBeCloseTo(costs.get(runId)!, 9);
  const listed = (await project.cli(["ls", "-n", "5000", "--prices", "prices.json"])).out.split("\n");

  let [struck, withChildren] = [0, 0];
  for (const [i, [runId, cost]] of [...costs].entries()) {
    const page = await site.get<RunPage>(`runs/${runId}`);
    const sums = await site.get<ChildSums>(`runs/${runId}/children`);
    expect(page.totals.spent.cost ?? 0, `the page of ${runId}`).toBeCloseTo(cost, 9);
    struck += page.retries.length;
    const isParent = Object.keys(sums).length > 0;
    if (isParent) withChildren += 1;
    const shown = (await showRun.call({ run: runId })) as unknown as Shown;
    expect(shown.totals.spent.cost ?? 0, `show_run of ${runId}`).toBeCloseTo(cost, 9);
    expect(shown.spent.own.cost ?? 0).toBeCloseTo(cost, 9);
    expect(shown.spent.all.cost ?? 0, `show_run of ${runId}`).toBeCloseTo(below(runId), 9);
    // What people read: the page and the command line print one text, and it has the sum with the children.
    if (i % 12 > 0 && !(isParent && withChildren < 3)) continue;
    const { out } = await project.cli(["show", runId, "--prices", "prices.json"]);
    const figures = spentFigures(page, sums);
    const spent = figures.find(({ name }) => name === "Spent")?.value ?? "";
    expect(spent).toBe(below(runId) === 0 ? "" : costText(below(runId)));
    for (const { name, value, note } of figures)
      expect(out.split("\n")[1], `show of ${runId}`).toContain(
        `${value}${name === "Tokens" ? " tokens" : ""}${note === "" ? "" : ` (${note})`}`,
      );
    const line = listed.find((each) => each.includes(` ${runId} `))!;
    expect(line, `ls of ${runId}`).toContain(cost === 0 ? "" : ` ${costText(cost)}`);
  }
  expect(struck).toBeGreaterThan(0);
  expect(withChildren).toBeGreaterThan(0);
  expect(made.some((id) => id.endsWith("-fork"))).toBe(true);
  const [first = ""] = made;
  const { run } = (await project.json(["show", first, "--prices", "prices.json"])) as { run: Shown };
  expect(run.totals.spent.cost ?? 0).toBeCloseTo(costs.get(first)!, 9);
  expect(run.spent.all.cost ?? 0).toBeCloseTo(below(first), 9);
  const all = [...costs.values()].reduce((sum, cost) => sum + cost, 0);
  for (const by of ["day", "model", "workflow", "label"] as const) {
    const spending = await app.spend({ by });
    expect(spending.cost).toBeCloseTo(all, 6);
    expect(spending.rows.reduce((sum, { cost }) => sum + (cost ?? 0), 0)).toBeCloseTo(all, 6);
  }
  expect(sum("durable.cost")).toBeCloseTo(all, 6);
  for (const { key, cost, inputTokens, outputTokens } of (await app.spend({ by: "model" })).rows) {
    expect(sum("durable.cost", { model: key })).toBeCloseTo(cost ?? 0, 6);
    expect(sum("durable.tokens", { model: key, type: "input" })).toBe(inputTokens);
    expect(sum("durable.tokens", { model: key, type: "output" })).toBe(outputTokens);
  }
  await session.close();
  await storage.close();
});
