/**
 * The workflows whose journals brought clean-up and compensation. As with those before, changing one changes what the
 * journals prove.
 */

import { durable, FatalError } from "@durable/core";

const lifeboat = durable("lifeboat", async (ctx) => {
  await ctx.step("board", () => "on board", { compensate: () => "back on land" });
  throw new FatalError("leaks");
});

/** Fails, or waits to be cancelled. One compensation fails for good, one clean-up fails. */
export const rescue = durable("rescue", async (ctx, how: "fails" | "waits") => {
  ctx.onCancel((c, { reason }) => c.step("report", () => `reported: ${reason}`), { name: "report" });
  ctx.onCancel(() => Promise.reject(new FatalError("no radio")), { name: "radio" });
  await ctx.step("alarm", () => "alarm 1", { compensate: ({ value }) => `called off ${value}` });
  await ctx.parallel({
    ropes: (c) => c.step("fetch", () => "ropes", { compensate: ({ status }) => status }),
    light: (c) =>
      c.step("fetch", () => "light", {
        compensate: () => {
          throw new FatalError("fell into the sea");
        },
      }),
  });
  if (how === "fails") await ctx.child(lifeboat, undefined);
  return ctx.suspend<string>("found");
});

export const goldenFlowsOfEnds = [lifeboat, rescue];
