import { createApp, durable, type Context, type StandardSchema } from "@durable/core";
import { describe, expect, test } from "vitest";
import { kindsOf, lab, outputOf, pause, tokenOf, type Lab } from "../support/behaviour-lab.ts";
import type { Flow } from "../support/behaviour-lives.ts";
import { open } from "../support/worker-lab.ts";

/** A schema whose check takes five seconds. */
function slowCheck(on: Lab): StandardSchema<string> {
  const validate = async (value: unknown) => {
    await pause(on.world, 5_000);
    return { value: String(value) };
  };
  return { "~standard": { version: 1, vendor: "test", validate } };
}

describe("a driver that stops while it checks an answer", () => {
  test("of a worker that is stopped: the verdict is recorded, and the run is handed over", async () => {
    const on = lab();
    const flow: Flow = durable("ask", async (ctx) => {
      const answer = await ctx.suspend("ok", { schema: slowCheck(on) });
      return [answer, await ctx.step("after", () => "after")];
    });
    const { app, worker } = open(on, [flow], { interval: 100 });
    await app.start("ask", undefined, { id: "r", drive: false });
    await on.world.advance(1_000);
    await app.resume(tokenOf(await app.get("r").outcome()), "yes", { drive: false });
    await on.world.advance(2_000);
    expect(worker.active).toBe(1);
    const before = on.world.now();
    await on.world.run(worker.stop());
    expect(on.world.now() - before).toBeLessThanOrEqual(5_000);
    expect(on.world.warnings).toEqual([]);
    expect(await kindsOf(app.get("r"))).toContain("suspend.resolved ok");
    expect(outputOf(await on.world.run(app.advance("r")))).toEqual(["yes", "after"]);
  });

  test("because its run is blocked: the run stops, and the answer is judged once it goes on", async () => {
    const on = lab();
    const life = { foreignMs: 0, input: "first" };
    const flow: Flow = durable("both", (ctx: Context) =>
      ctx.parallel({
        ask: (c) => c.suspend("ok", { schema: slowCheck(on) }),
        step: async (c) => {
          if (life.foreignMs > 0) await pause(on.world, life.foreignMs);
          return c.step("work", () => 1, { input: life.input });
        },
      }),
    );
    const app = createApp({ ...on, workflows: [flow] });
    await app.start("both", undefined, { id: "r" });
    await on.world.advance(1_000);
    await app.resume(tokenOf(await app.get("r").outcome()), "yes", { drive: false });
    // Other code, which comes to the step with another input two seconds after the check began.
    Object.assign(life, { foreignMs: 2_000, input: "second" });
    expect(await on.world.run(app.advance("r"))).toMatchObject({
      status: "blocked",
      error: { code: "diverged" },
    });
    Object.assign(life, { foreignMs: 0, input: "first" });
    expect(outputOf(await on.world.run(app.advance("r")))).toEqual({ ask: "yes", step: 1 });
  });
});
