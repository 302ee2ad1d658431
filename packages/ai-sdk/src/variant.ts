/**
 * What an eval, or a fork with other prompts, changes in a call of a language model: the model that is asked, and the system
 * prompt. The name of the call stays that of the code's own question, so the turns before the cut are found. Proven in
 * packages/evals/test/off-the-record.test.ts and test/fork-prompts.test.ts.
 */

import type { EvalVariant } from "@durable/core/clients";
import type { Call, ModelId, Params } from "./call.ts";
import { questionOf } from "./question.ts";

export type Method = (params: Params) => PromiseLike<object>;

interface Asking {
  readonly call: Call;
  /** The method of the model: `doGenerate` or `doStream`. */
  readonly property: string;
  readonly ask: Method;
}

interface Message {
  readonly role?: unknown;
  readonly content?: unknown;
}

export function varied(
  variant: EvalVariant | undefined,
  { call, property, ask }: Asking,
): { readonly call: Call; readonly ask: Method } {
  const { params, options } = call;
  const messages: unknown = params["prompt"];
  // Only a language model has messages.
  if (variant === undefined || !Array.isArray(messages)) return { call, ask };
  const other = variant.model as (ModelId & Readonly<Record<string, Method>>) | undefined;
  const model = other ?? call.model;
  const prompt = withSystem(messages as Message[], variant.prompt, options.label);
  const asked = { ...params, prompt };
  return {
    call: { ...call, model, params: asked, question: () => questionOf(model, asked) },
    ask: other === undefined ? ask : (given) => (other[property] as Method).call(other, given),
  };
}

function withSystem(
  messages: readonly Message[],
  prompt: EvalVariant["prompt"],
  label: string | undefined,
): readonly Message[] {
  if (prompt === undefined) return messages;
  const [system, others] = [messages.filter(isSystem), messages.filter((one) => !isSystem(one))];
  const text = system.map(({ content }) => String(content)).join("\n");
  const content = typeof prompt === "string" ? prompt : prompt(text, { label });
  if (content === text) return messages;
  return [{ ...system[0], role: "system", content }, ...others];
}

function isSystem({ role }: Message): boolean {
  return role === "system";
}
