/**
 * Models that need no key. The agent's model does what its system prompt says, and makes a mistake: it counts weekends as
 * working days.
 */

import { scriptedModel, type ModelCall, type ScriptedModel } from "@durable/testing";
import { euros, type Order } from "./orders.ts";

/** Called before each answer of a model. */
type OnCall = () => void | Promise<void>;

export function agentModel(onCall: OnCall = () => {}): ScriptedModel {
  return scriptedModel(async (_, call) => {
    await onCall();
    const id = /Order (\S+):/.exec(call.question)?.[1] ?? "";
    const order = call.toolResults.at(-1)?.value as Order | undefined;
    if (order === undefined) return { calls: [{ tool: "order", input: { id }, id: `order-${id}` }] };
    const facts = `Your ${order.goods} was sent on ${order.sent} November and came on ${order.came} November.`;
    const knowsPolicy = systemOf(call)?.includes("three working days") === true;
    const isLate = knowsPolicy && order.came - order.sent > 3;
    return isLate
      ? `I am sorry for the wait. ${facts} Express is late after three working days, so ${euros(order.fee)} are on their way back to you.`
      : `I am sorry for the wait. ${facts} Express was in time, so the fee of ${euros(order.fee)} stays.`;
  });
}

/** A judge: polite answers say that they are sorry. */
export function judgeModel(onCall: OnCall = () => {}): ScriptedModel {
  const script = async (_: unknown, { question }: ModelCall): Promise<string> => {
    await onCall();
    const { answer } = JSON.parse(question) as { readonly answer: string };
    const isKind = answer.includes("sorry");
    return JSON.stringify({
      score: isKind ? 1 : 0,
      reason: isKind ? "It says sorry." : "It does not say sorry.",
    });
  };
  return scriptedModel(script, { modelId: "judge" });
}

/** The system prompt, which is a text. */
function systemOf({ prompt }: ModelCall): string | undefined {
  const content: unknown = prompt.find(({ role }) => role === "system")?.content;
  return typeof content === "string" ? content : undefined;
}
