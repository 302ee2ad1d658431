import { durable, FatalError } from "@durable/core";
import { call } from "playground";

export const input = "Lisbon";

// The car cannot be had. What was booked is undone, the latest first, also after a crash.
export default durable("saga", async (ctx, city: string) => {
  const flight = await ctx.step("flight", (info) => call(`book flight to ${city}`, info), {
    compensate: (info) => call("cancel flight", info),
  });
  const hotel = await ctx.step("hotel", (info) => call(`book hotel in ${city}`, info), {
    compensate: (info) => call("cancel hotel", info),
  });
  await ctx.step("car", async (info) => {
    await call("book car", info);
    throw new FatalError(`no car left in ${city}`);
  });
  return { flight, hotel };
});
