/**
 * What a language model said, from the value that its call recorded: a result with content, or the parts of a stream, as the AI
 * SDK has them or as `@durable/ai-sdk` keeps them. Proven in packages/ai-sdk/test/answers.test.ts.
 *
 * answer.1. A recorded chunk is a time with a part, or a time, a type, an id and deltas. Any other value is a part as it is.
 */

export interface SaidPart {
  readonly type?: unknown;
  readonly id?: unknown;
  readonly text?: unknown;
  readonly delta?: unknown;
  readonly toolName?: unknown;
  readonly input?: unknown;
}

/** The parts of the AI SDK that a chunk stands for. */
export function partsOfChunk(chunk: unknown): readonly unknown[] {
  if (!Array.isArray(chunk) || typeof chunk[0] !== "number") return [chunk];
  const [, part, id, deltas] = chunk as readonly unknown[];
  if (typeof part === "string" && Array.isArray(deltas))
    return deltas.map((delta: unknown) => ({ type: part, id, delta }));
  return isPart(part) && chunk.length === 2 ? [part] : [chunk];
}

const isPart = (part: unknown): part is SaidPart =>
  typeof part === "object" && part !== null && typeof (part as SaidPart).type === "string";

/** The parts that a value has; empty for one that no model said. */
export function saidIn(value: unknown): readonly SaidPart[] {
  const all = Array.isArray(value) ? value.flatMap(partsOfChunk) : contentOf(value);
  return all.filter(isPart);
}

function contentOf(value: unknown): readonly unknown[] {
  const { content } = Object(value) as { readonly content?: unknown };
  return Array.isArray(content) ? (content as unknown[]) : [];
}

/** The words of some parts, with the tools that were called; empty where nothing was said. */
export function answerText(value: unknown): string {
  let text = "";
  for (const { type, text: whole, delta, toolName, input } of saidIn(value)) {
    const said = type === "text" ? whole : type === "text-delta" ? (delta ?? whole) : "";
    if (typeof said === "string") text += said;
    if (type === "tool-call")
      text += `${text === "" || text.endsWith("\n") ? "" : "\n"}[calls ${String(toolName)} ${jsonOf(input)}]\n`;
  }
  return text.trimEnd();
}

function jsonOf(input: unknown): string {
  return typeof input === "string" ? input : (JSON.stringify(input) ?? "");
}
