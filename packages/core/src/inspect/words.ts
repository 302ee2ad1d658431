/** The first words of an answer of a language model, for people. Proven in packages/ai-sdk/test/turns.test.ts. */

/** How much of an answer is shown. */
const most = 80;
/** How much of an answer is read, in characters and in parts. */
const mostRead = 1_000;
const mostParts = 2_000;

interface Said {
  readonly type?: unknown;
  readonly text?: unknown;
  readonly delta?: unknown;
  readonly toolName?: unknown;
}

/** Of the recorded value of a turn: its first words, or the tools that it calls. */
export function firstWords(value: unknown): string {
  const parts = partsIn(value);
  let text = "";
  for (const { type, text: whole, delta } of parts) {
    const said = type === "text" ? whole : type === "text-delta" ? delta : "";
    if (typeof said === "string") text += said;
    if (text.length > mostRead) break;
  }
  const line = text.slice(0, mostRead).replaceAll(/\s+/g, " ").trim();
  const tools = parts.flatMap(({ type, toolName }) =>
    type === "tool-call" ? [`calls ${String(toolName)}`] : [],
  );
  return cut(line === "" ? tools.slice(0, 8).join(", ") : line);
}

/** Whole characters: no half of a surrogate pair remains. */
function cut(text: string): string {
  return text.length > most ? `${text.slice(0, most).replace(/[\uD800-\uDBFF]$/, "")}...` : text;
}

/** The parts of a result, or of chunks: a time and a part, or a time, a type, an id and deltas. */
function partsIn(value: unknown): readonly Said[] {
  if (!Array.isArray(value)) return ((value as { content?: unknown } | null)?.content ?? []) as Said[];
  return (value as unknown[])
    .slice(0, mostParts)
    .flatMap((chunk): Said[] => {
      if (!Array.isArray(chunk)) return [chunk as Said];
      const [, part, , deltas] = chunk as unknown as readonly [
        unknown,
        Said | string,
        unknown?,
        (readonly unknown[])?,
      ];
      return typeof part === "string" ? (deltas ?? []).map((delta) => ({ type: part, delta })) : [part];
    })
    .filter((part) => typeof part === "object" && part !== null);
}
