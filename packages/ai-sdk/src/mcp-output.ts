/**
 * How results of MCP tools are shown to a model. The client does it by a function, which a replay without the client does
 * not have, and which differs by version: so its form for images and audio is recorded as a template. Proven in
 * test/mcp.test.ts.
 */

type Show = (given: { readonly output: unknown }) => unknown;

/** Templates of parts, by kind; a kind that is missing is shown as JSON text. */
export type Forms = Readonly<Partial<Record<"image" | "audio", unknown>>>;

const data = "durable:data";
const mimeType = "durable:type";

/** The forms of a client, from one of its tools; `null` when it leaves them to the SDK. */
export function formsOf(tool: object | undefined): Forms | null {
  const { toModelOutput: show } = (tool ?? {}) as { readonly toModelOutput?: Show };
  if (show === undefined) return null;
  const kinds = (["image", "audio"] as const).flatMap((type) => {
    const shown = show({ output: { content: [{ type, data, mimeType }] } });
    const [part] = (shown as { readonly value?: readonly { readonly type?: unknown }[] }).value ?? [];
    return part === undefined || part.type === "text" ? [] : [[type, part] as const];
  });
  return Object.fromEntries(kinds);
}

export function toModelOutput(forms: Forms): Show {
  return ({ output }) => {
    if (typeof output === "string") return { type: "text", value: output };
    const { content } = (output ?? {}) as { readonly content?: unknown };
    if (!Array.isArray(content)) return { type: "json", value: output ?? null };
    return { type: "content", value: content.map((part: Part) => shownPart(part, forms)) };
  };
}

type Part = Readonly<Record<string, unknown>>;

function shownPart(part: Part, forms: Forms): unknown {
  if (part["type"] === "text" && "text" in part) return { type: "text", text: part["text"] };
  const form = forms[part["type"] as keyof Forms];
  if (form === undefined || !("data" in part) || !("mimeType" in part))
    return { type: "text", text: JSON.stringify(part) };
  return filled(form, part);
}

function filled(form: unknown, part: Part): unknown {
  if (form === data) return part["data"];
  if (form === mimeType) return part["mimeType"];
  if (typeof form !== "object" || form === null) return form;
  return Object.fromEntries(Object.entries(form).map(([key, field]) => [key, filled(field, part)]));
}
