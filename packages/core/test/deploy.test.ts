import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createApp, durable, type Context, type Workflow } from "@durable/core";
import { build } from "esbuild";
import { describe, expect, onTestFinished, test } from "vitest";
import { lab, outputOf, pause, tokenOf } from "./support/behaviour-lab.ts";
import { ran, review } from "./support/deploy-flow.ts";
import { stage, tokenOf as stageToken, runId, type Code } from "./support/order-stage.ts";
import { open } from "./support/worker-lab.ts";
import { numbered, record, statuses } from "./support/worker-runs.ts";

const here = fileURLToPath(new URL(".", import.meta.url));

/** The workflow and all of the library as one minified file, with every name that can be shortened shortened. */
async function minified(): Promise<{ readonly flow: Workflow<unknown, unknown>; readonly ran: string[] }> {
  const folder = join(here, "../../../dist/deploy-test");
  mkdirSync(folder, { recursive: true });
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  const outfile = join(folder, "bundle.mjs");
  const { metafile } = await build({
    entryPoints: [join(here, "support/deploy-flow.ts")],
    outfile,
    bundle: true,
    minify: true,
    format: "esm",
    platform: "node",
    conditions: ["durable-source"],
    metafile: true,
  });
  expect(Object.keys(metafile.inputs).some((path) => path.endsWith("core/src/engine/engine.ts"))).toBe(true);
  const bundle = (await import(pathToFileURL(outfile).href)) as {
    review: Workflow<unknown, unknown>;
    ran: string[];
  };
  return { flow: bundle.review, ran: bundle.ran };
}

test("H53 a run that was parked by the sources goes on in a minified bundle, and the other way round", async () => {
  const bundle = await minified();
  const deploys = [
    { before: { flow: review as Workflow<unknown, unknown>, ran }, after: bundle },
    { before: bundle, after: { flow: review as Workflow<unknown, unknown>, ran } },
  ];
  const outputs: unknown[] = [];
  for (const { before, after } of deploys) {
    const on = lab();
    before.ran.length = 0;
    after.ran.length = 0;
    const parked = await on.world.run(before.flow.with({ ...on }).run(undefined, { id: "r" }));
    expect(before.ran).toEqual(["plan", "pull", "appraise"]);
    expect(
      await on.world.run(
        after.flow
          .with({ ...on })
          .get("r")
          .outcome(),
      ),
    ).toMatchObject({
      waiting: [{ key: "race[answer]/approve" }],
    });
    const { status, outcome } = await on.world.run(after.flow.with({ ...on }).resume(tokenOf(parked), "yes"));
    expect(status).toBe("accepted");
    outputs.push(outputOf(outcome));
    expect(after.ran, "only what was not recorded").toEqual(["file"]);
    expect(on.world.warnings).toEqual([]);
  }
  expect(outputs[0]).toEqual([
    "plan done",
    "pull done",
    "appraise done",
    "answer",
    expect.any(String),
    "file done",
  ]);
  expect(outputs[1], "draws of chance included").toEqual(outputs[0]);
});

describe("H53 a run that was parked on version 1", () => {
  const v1: Code = async (ctx, say) => [
    await say("a"),
    await say("b", { input: "b" }),
    await ctx.suspend("review"),
    await say("z"),
  ];
  /** What the rule says: names decide, so that only another kind, another declared input or a lost wait is too much. */
  const deploys: readonly [string, Code, "finishes" | "diverged"][] = [
    ["the same code", v1, "finishes"],
    ["a step appended", async (ctx, say) => [await v1(ctx, say), await say("new")], "finishes"],
    ["a step inserted", async (ctx, say) => [await say("new"), await v1(ctx, say)], "finishes"],
    ["a step removed", async (ctx) => ctx.suspend("review"), "finishes"],
    [
      "a step made a sleep",
      async (ctx) => [await ctx.sleep("1s", { name: "a" }), await ctx.suspend("review")],
      "diverged",
    ],
    [
      "another declared input",
      async (ctx, say) => [await say("b", { input: "other" }), await ctx.suspend("review")],
      "diverged",
    ],
    ["the open wait removed", async (_, say) => [await say("a"), await say("b", { input: "b" })], "diverged"],
  ];

  test.each(deploys)("and is deployed over by %s: it %s", async (_, code, verdict) => {
    for (const sweeps of [false, true]) {
      const at = stage();
      const token = stageToken(await at.run(v1, 1), "review");
      const parked = await at.bytes();
      const app = at.app(code);
      expect((await app.list({ status: "suspended" })).runs, "no run is out of sight").toMatchObject([
        { runId },
      ]);
      if (sweeps) await app.resume(token, "yes", { drive: false });
      const [outcome] = sweeps
        ? (await at.world.run(app.sweep())).outcomes
        : [
            await at.world.run(
              app.resume(token, "yes").then(
                (r) => r.outcome,
                (error: unknown) => ({ status: "blocked", error }),
              ),
            ),
          ];
      if (verdict === "finishes") {
        expect(outcome).toMatchObject({ status: "completed" });
        continue;
      }
      expect(outcome).toMatchObject({ status: "blocked", error: { code: "diverged" } });
      expect((outcome as { error: Error }).error.message).toMatch(
        new RegExp(`Run ${runId} .*"(a|b|review)"`),
      );
      expect((await at.bytes()).slice(0, parked.length), "what is recorded stays").toEqual(parked);
      expect((await app.list()).runs).toHaveLength(1);
      // The way back is to put the code right: then it ends.
      const right = at.flow(v1);
      const ended = sweeps
        ? await at.world.run(right.run(null, { id: runId }))
        : (await at.world.run(right.resume(token, "yes"))).outcome;
      expect(ended).toMatchObject({ status: "completed", output: ["a1", "b1", "yes", "z2"] });
    }
  });

  test("fifty deploys later, with an answer at the end", async () => {
    const at = stage();
    const token = stageToken(await at.run(v1, 1), "review");
    at.ran();
    for (let deploy = 2; deploy <= 51; deploy++) {
      const code: Code = async (ctx, say) => [await v1(ctx, say), await say(`new in ${deploy}`)];
      expect(await at.run(code, deploy)).toMatchObject({ status: "suspended" });
      await at.world.advance(86_400_000);
    }
    expect(at.ran(), "nothing ran for a deploy").toEqual([]);
    const last = await at.world.run(at.flow(v1, 52).resume(token, "yes"));
    expect(outputOf(last.outcome)).toEqual(["a1", "b1", "yes", "z52"]);
  });
});

describe("H55 a fleet in the middle of a deploy", () => {
  test("old and new workers on one storage: every run ends, and keeps the version it was started with", async () => {
    const on = lab();
    const bodies = new Map<string, string[]>();
    const versioned = (version: string) =>
      durable(
        "job",
        async (ctx: Context) => {
          const seen = new Set<string | null>();
          for (const name of ["a", "b", "c"]) {
            seen.add(ctx.version);
            await ctx.step(name, async () => {
              const key = `${ctx.runId} ${name}`;
              bodies.set(key, [...(bodies.get(key) ?? []), version]);
              await pause(on.world, 3_000);
            });
            // Handed on between any two steps.
            await ctx.sleep("2s");
          }
          return [...seen];
        },
        { version },
      );
    const [before, after] = [versioned("1"), versioned("2")];
    const ids = numbered("r", 12);
    for (const [n, id] of ids.entries()) {
      const run = (n % 2 === 0 ? before : after).with({ ...on, patience: 0 });
      void run.run(undefined, { id });
    }
    const shops = [before, after].map((flow) => open(on, [flow], { interval: 500, concurrency: 4 }));
    for (let rounds = 0; (await statuses(on.storage))["completed"] !== ids.length; rounds++) {
      expect(rounds).toBeLessThan(100);
      await on.world.advance(1_000);
    }
    for (const { heard } of shops) expect(heard.length, "both had their share").toBeGreaterThan(0);
    for (const [n, id] of ids.entries())
      expect(outputOf(await shops[0]!.app.get(id).outcome()), id).toEqual([n % 2 === 0 ? "1" : "2"]);
    expect(bodies.size).toBe(ids.length * 3);
    for (const [step, by] of bodies) expect(by, `${step} ran under one version, once`).toHaveLength(1);
  });

  test("a workflow only the new workers have is left to them, never failed or dropped", async () => {
    const on = lab();
    const known = durable("known", (ctx) => ctx.step("a", () => "known"));
    const fresh = durable("fresh", (ctx) => ctx.step("a", () => "fresh"));
    for (const id of numbered("fresh", 5)) await record(on, id, { workflow: "fresh" });
    const old = open(on, [known]);
    await on.world.advance(600_000);
    expect(old.heard).toEqual([]);
    expect(await statuses(on.storage)).toEqual({ running: 5 });
    const { unknown } = await on.world.run(createApp({ ...on, workflows: [known] }).sweep());
    expect(unknown.toSorted(), "the sweep lists them").toEqual(numbered("fresh", 5));
    const { until, heard } = open(on, [known, fresh]);
    await until(5);
    expect(heard.map(outputOf)).toEqual(Array.from({ length: 5 }, () => "fresh"));
  });
});
