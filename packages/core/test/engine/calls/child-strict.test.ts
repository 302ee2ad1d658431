import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createApp, durable, type DurableError } from "@durable/core";
import { expect, test } from "vitest";
import { hooked, kindsOf, lab, outputOf, pause, tokenOf } from "../../support/behaviour-lab.ts";
import { unhandled } from "../../support/behaviour-unhandled.ts";
import { childrenOf } from "./support/child-family.ts";

const program = fileURLToPath(new URL("./support/child-strict.ts", import.meta.url));

test("H42 under --unhandled-rejections=strict: failures of children and items reach the workflow, the process lives", async () => {
  const args = ["--unhandled-rejections=strict", "--conditions=durable-source", program];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args);
  const said = JSON.parse(stdout) as {
    output: unknown;
    ended: string[];
    statuses: string[];
    kinds: string[];
  };
  expect(said.output).toEqual({
    caught: ["step-failed", "step-failed", "step-failed"],
    raced: expect.stringMatching(/quick|late/),
    left: 2,
  });
  // Those whose sibling failed were aborted, and are cancelled; a body that ran beside a failed step was waited for.
  expect(said.ended.filter((line) => line.startsWith("item"))).toEqual(["item 0 told", "item 2 told"]);
  expect(said.statuses.filter((line) => line === "slow cancelled").length).toBeGreaterThanOrEqual(2);
  expect(said.statuses.filter((line) => line === "bad failed")).toHaveLength(4);
  expect(said.statuses.filter((line) => /running|suspended/.test(line))).toEqual([]);
  for (const body of ["steps[0]/work", "steps[2]/work"])
    expect(said.kinds).toContain(`step.completed ${body}`);
  expect(said.kinds.at(-1)).toBe("run.completed");
  expect(stderr).toMatch(/^durable: run r ended, but its code never looked at the failure of: [^\n]+\n$/);
});

test("H43 one of many waiting children is answered at a time: the run lets go again after each, and ends with the last", async () => {
  const on = lab();
  const seen = unhandled();
  const kid = durable("kid", (ctx, n: number) => ctx.suspend<number>("n", { note: n }));
  const flow = durable("parent", async (ctx) => {
    const all = await ctx.map([0, 1, 2, 3, 4], (c, n) => c.child(kid, n));
    return all.reduce((sum, n) => sum + n, 0);
  });
  const app = createApp({ ...on, workflows: [flow, kid] });
  let parked = await on.world.run(flow.with({ ...on }).run(undefined, { id: "r" }));
  for (const place of [3, 0, 4, 1, 2]) {
    expect(parked.status).toBe("suspended");
    const at = on.world.now();
    await on.world.run(app.resume(tokenOf(parked, `map[${place}]/kid/n`), place));
    parked = (await on.world.run(app.advance("r"))) as typeof parked;
    expect(on.world.now() - at).toBeLessThan(1_000);
  }
  expect(outputOf(parked)).toBe(10);
  expect(await seen()).toEqual([]);
});

test("H43 a race is decided while a losing child commits: whichever lands first, nothing is in an invalid state", async () => {
  const seen = unhandled();
  const winners = new Set<string>();
  for (let ms = 0; ms <= 20; ms++) {
    const on = lab();
    const kid = durable("kid", (ctx, after: number) => ctx.step("work", () => pause(on.world, 100 + after)));
    const flow = durable("parent", async (ctx) => {
      const first = await ctx.race({ a: (c) => c.child(kid, 10), b: (c) => c.child(kid, ms) });
      const code = await ctx
        .parallel({
          bad: (c) =>
            c.step("bad", () => pause(on.world, 110).then(() => Promise.reject(new Error("no"))), {
              retry: false,
            }),
          kid: (c) => c.child(kid, ms),
        })
        .catch((error: DurableError) => error.code);
      return [first.name, code];
    });
    const storage = hooked(on.storage, (operation) =>
      operation === "append" ? pause(on.world, 3) : undefined,
    );
    const [name, code] = outputOf(
      await on.world.run(flow.with({ ...on, storage }).run(undefined, { id: "r" })),
    ) as string[];
    winners.add(name!);
    expect(code).toBe("step-failed");
    await on.world.advance(60_000);
    const open = (await childrenOf(on.storage, "r")).filter(({ status }) => /running|suspended/.test(status));
    expect(open, `${ms}`).toEqual([]);
    expect((await kindsOf(flow.with({ ...on }).get("r"))).at(-1)).toBe("run.completed");
    expect(on.world.warnings, `${ms}`).toEqual([]);
  }
  expect(winners.size).toBe(2);
  expect(await seen()).toEqual([]);
});
