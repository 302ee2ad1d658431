/** One number for what a run cost: on the page, in the command line, over MCP, in lists, in the sums of the app, and in metrics. */

import { createApp, durable, FatalError, type App } from "@durable/core";
import { costIn } from "@durable/core/inspect";
import { SqliteStorage } from "@durable/core/sqlite";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, inject, test } from "vitest";
import { pageOf } from "../../dashboard/src/routes/run.ts";
import { serviceOf } from "../../dashboard/src/options.ts";
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

test("page, command line, MCP, lists, sums and metrics agree on generated runs with retries, forks and children", async () => {
  mkdirSync(join(project.folder, ".durable"), { mode: 0o700 });
  writeFileSync(join(project.folder, "prices.json"), JSON.stringify(prices));
  const storage = new SqliteStorage(join(project.folder, ".durable", "journal.db"));
  // The prices of the app are all that metrics need.
  const { meter, sum } = summing();
  const { hooks } = telemetry({ meter, tracer: false });
  const app = createApp({ storage, workflows: [work], prices, hooks });
  const made = await generate(app, inject("full") ? 500 : 25);
  const costs = new Map<string, number>();
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await app.list({ limit: 100, cursor });
    for (const head of page.runs) costs.set(head.runId, costIn(head, prices) ?? 0);
    cursor = page.next;
  }
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
  const showRun = readers(session, Date.now).find(({ name }) => name === "show_run")!;
  const service = serviceOf({ app, prices, token: "token-for-tests-0123456789-0123456789" });
  let struck = 0;
  for (const [runId, cost] of costs) {
    const page = await pageOf(service, runId);
    expect(page.totals.spent.cost ?? 0, `the page of ${runId}`).toBeCloseTo(cost, 9);
    struck += page.retries.length;
    const shown = (await showRun.call({ run: runId })) as { totals: { spent: { cost: number | null } } };
    expect(shown.totals.spent.cost ?? 0, `show_run of ${runId}`).toBeCloseTo(cost, 9);
  }
  expect(struck).toBeGreaterThan(0);
  expect(made.some((id) => id.endsWith("-fork"))).toBe(true);
  const [first = ""] = made;
  const printed = await project.json(["show", first, "--prices", "prices.json"]);
  expect(printed).toMatchObject({
    run: { totals: { spent: { cost: expect.closeTo(costs.get(first) ?? 0, 9) as number } } },
  });
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
