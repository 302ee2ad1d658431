/** Reads queries and bodies, within limits. Proven in test/server.test.ts. */

import { Refusal } from "../errors.ts";

const mostBytes = 4 * 1024 * 1024;

/** A JSON object from the body. Nothing else is accepted, so that no form of another page can send one. */
export async function readBody(request: Request): Promise<Record<string, unknown>> {
  const type = (request.headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase();
  if (type !== "application/json") throw new Refusal("invalid-body", "Send the body as application/json.");
  const text = await readText(request);
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === "object" && body !== null && !Array.isArray(body))
      return body as Record<string, unknown>;
  } catch {
    // The parser's message quotes the body.
  }
  throw new Refusal("invalid-body", "The body is not a JSON object.");
}

async function readText(request: Request): Promise<string> {
  const reader = request.body?.getReader();
  const decoder = new TextDecoder();
  let [text, length] = ["", 0];
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true as const, value: undefined };
    if (done) return text + decoder.decode();
    length += value.byteLength;
    if (length > mostBytes) {
      await reader?.cancel();
      throw new Refusal("invalid-body", `The body has more than ${mostBytes} bytes.`);
    }
    text += decoder.decode(value, { stream: true });
  }
}

/** A text of a body; `undefined` when it is missing. */
export function textIn(body: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = body[name];
  if (value === undefined || typeof value === "string") return value;
  throw new Refusal("invalid-body", `"${name}" must be a text.`);
}

/** A whole number of a query, within bounds. */
export function numberIn(url: URL, name: string, bounds: { min: number; max: number; or: number }): number {
  const text = url.searchParams.get(name);
  if (text === null || text === "") return bounds.or;
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= bounds.min) return Math.min(value, bounds.max);
  throw new Refusal("invalid-query", `"${name}" must be a whole number of at least ${bounds.min}.`);
}

/** A list of a query, separated by commas. */
export function listIn(url: URL, name: string): string[] {
  return (url.searchParams.get(name) ?? "").split(",").filter((part) => part !== "");
}

/** `?tag=customer=42,team=red`, each part encoded once more, because values may have commas. */
export function tagsIn(url: URL): Readonly<Record<string, string>> | undefined {
  const pairs = listIn(url, "tag").map((text) => {
    const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
    if (name === undefined || value === undefined)
      throw new Refusal("invalid-query", `"${text}" is not a tag: write name=value.`);
    try {
      return [decodeURIComponent(name), decodeURIComponent(value)] as const;
    } catch {
      throw new Refusal("invalid-query", `"${text}" is not encoded as a tag has to be.`);
    }
  });
  return pairs.length === 0 ? undefined : Object.fromEntries(pairs);
}
