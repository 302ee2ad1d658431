import { durable } from "@durable/core";
import { ask, call } from "playground";

export const input = { customer: "Mira", amount: 40 };

// It waits for a person. While it waits, close the tab, or change the code below the wait.
export default durable("approval", async (ctx, { customer, amount }: typeof input) => {
  const reply = await ctx.step("draft", (info) => ask(`A reply to ${customer} about ${amount} euros`, info));
  const isApproved = await ctx.suspend<boolean>("approve", { note: `Refund ${amount} euros? ${reply}` });
  if (!isApproved) return "refused";
  const receipt = await ctx.step("refund", (info) => call(`refund of ${amount}`, info));
  await ctx.step("mail", (info) => call(`mail to ${customer}`, info));
  return `refunded: ${receipt}`;
});
