/** A support agent: it looks an order up, answers, and mails the answer. */

import { durable } from "@durable/core";
import { durableModel, durableTools } from "@durable/ai-sdk";
import { generateText, jsonSchema, stepCountIs, tool, type LanguageModel } from "ai";
import { orders, type Order } from "./orders.ts";

export const prompt = "You answer customers of a bicycle shop. Be friendly and brief.";

/** What the agent does to the world. */
export interface Shop {
  readonly lookUp: (id: string) => Order;
  readonly mail: (to: string, text: string) => void;
}

export function shop(did: (what: string) => void): Shop {
  return {
    lookUp: (id) => {
      did(`look up ${id}`);
      return orders.find((order) => order.id === id) as Order;
    },
    mail: (to) => did(`mail ${to}`),
  };
}

export function createAgent(model: Exclude<LanguageModel, string>, { lookUp, mail }: Shop) {
  const order = tool({
    description: "Reads an order.",
    inputSchema: jsonSchema<{ id: string }>({ type: "object", properties: { id: { type: "string" } } }),
    execute: ({ id }) => lookUp(id),
  });
  return durable("support", async (ctx, question: string) => {
    const { text } = await generateText({
      model: durableModel(ctx, model),
      tools: durableTools(ctx, { order }),
      stopWhen: stepCountIs(4),
      system: prompt,
      prompt: question,
    });
    await ctx.step("mail", () => mail(ctx.runId, text));
    return text;
  });
}

export function questionAbout({ id, goods }: Order): string {
  return `Order ${id}: I paid for express, and the ${goods} took its time. Do I get the shipping fee back?`;
}
