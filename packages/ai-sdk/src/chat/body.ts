/** Reads the body of a request, up to its limit. Proven in test/chat.test.ts. */

/** A request that is refused with this status. */
export class Refusal extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`refused with ${status}`);
    this.name = "Refusal";
    this.status = status;
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
    return JSON.parse(text + decoder.decode()) as unknown;
  } catch (error) {
    void reader?.cancel().catch(() => {});
    throw error instanceof Refusal ? error : new Refusal(400);
  }
}
