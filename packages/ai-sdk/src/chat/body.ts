/**
 * Reads the body of a request, up to its limits, which are checked before the text becomes a value. Proven in
 * test/chat.test.ts and test/chat-attacks.test.ts.
 */

/** Nesting of a body. A journal takes values of 256 levels. */
const mostDepth = 128;
/** Values of a body, and names of members: many small ones cost more time than their bytes say. */
const mostNodes = 100_000;

/** A request that is refused with this status. */
export class Refusal extends Error {
  readonly status: number;
  /** For the client; the body of the response has only the status without it. */
  readonly reason: { readonly code: string; readonly message: string } | null;

  constructor(status: number, reason: Refusal["reason"] = null) {
    super(`refused with ${status}`);
    this.name = "Refusal";
    this.status = status;
    this.reason = reason;
  }
}

export async function readBody(request: Request, most: number): Promise<unknown> {
  if (!/^application\/json\b/i.test(request.headers.get("content-type") ?? "")) throw new Refusal(415);
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  let bytes = 0;
  const reader = request.body?.getReader();
  try {
    for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
      bytes += next.value.length;
      if (bytes > most) throw new Refusal(413);
      text += decoder.decode(next.value, { stream: true });
    }
    text += decoder.decode();
    assertShape(text);
    return JSON.parse(text) as unknown;
  } catch (error) {
    void reader?.cancel().catch(() => {});
    throw error instanceof Refusal ? error : new Refusal(400);
  }
}

/** `JSON.parse` decides whether the text is valid. */
function assertShape(text: string): void {
  let depth = 0;
  let nodes = 0;
  // The next character that is not space begins a value, or the name of a member.
  let fresh = true;
  for (let i = 0; i < text.length; i++) {
    const sign = text.charAt(i);
    if (sign <= " ") continue;
    if (sign === ",") {
      fresh = true;
      continue;
    }
    if (fresh && sign !== "]" && sign !== "}") nodes += 1;
    const opens = sign === "[" || sign === "{";
    fresh = opens || sign === ":";
    if (opens) depth += 1;
    else if (sign === "]" || sign === "}") depth -= 1;
    else if (sign === '"') i = endOfString(text, i);
    if (depth > mostDepth) throw new Refusal(400);
    if (nodes > mostNodes) throw new Refusal(413);
  }
}

/** The index of the closing quote, or of the end. */
function endOfString(text: string, start: number): number {
  let i = start + 1;
  while (i < text.length && text.charAt(i) !== '"') i += text.charAt(i) === "\\" ? 2 : 1;
  return i;
}
