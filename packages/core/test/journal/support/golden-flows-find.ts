/** The workflows whose journals brought tags and spawned runs. As with those before, changing one changes what they prove. */

import { durable } from "@durable/core";

const boat = durable("boat", async (ctx, name: string) => {
  await ctx.sleep("1 hour");
  return name;
});

/** Tags that come and go, boats that outlive the harbour, one whose id is taken, and a second chapter. */
export const harbour = durable("harbour", async (ctx, round: number): Promise<unknown> => {
  ctx.tag({ stage: "open", round: String(round) });
  const [first] = await ctx.parallel([(c) => c.spawn(boat, "ann"), (c) => c.step("light", () => "on")]);
  ctx.tag({ stage: null, boat: first.runId });
  const taken = await ctx
    .spawn(boat, "bea", { id: "harbour-1", name: "taken", onParentEnd: "cancel" })
    .catch((error: { cause: { code: string } }) => error.cause.code);
  if (round === 1) return ctx.continueAs(2);
  const late = await ctx.suspend<string>("late");
  return { first: first.runId.length, taken, late };
});

export const goldenFlowsFind = [boat, harbour];
