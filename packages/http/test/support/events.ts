/** Server-sent events, read as a browser reads them. */

export interface SentEvent {
  readonly id: string;
  readonly event: string;
  readonly data: unknown;
}

/** The events of a text that is complete; comments are left out. */
export function eventsIn(text: string): SentEvent[] {
  return text
    .split("\n\n")
    .map(eventOf)
    .filter((event) => event !== null);
}

function eventOf(block: string): SentEvent | null {
  const fields = new Map<string, string>();
  for (const line of block.split("\n")) {
    const [, name = "", value = ""] = /^([^:]*): ?(.*)$/.exec(line) ?? [];
    if (name !== "") fields.set(name, value);
  }
  const data = fields.get("data");
  if (data === undefined) return null;
  return { id: fields.get("id") ?? "", event: fields.get("event") ?? "", data: JSON.parse(data) as unknown };
}

/** Reads events one by one; comments count as events named "comment". */
export async function* eventsOf(response: Response): AsyncGenerator<SentEvent, void, undefined> {
  let held = "";
  const text = new TextDecoder();
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      held += text.decode(value, { stream: true });
      for (let end = held.indexOf("\n\n"); end !== -1; end = held.indexOf("\n\n")) {
        const block = held.slice(0, end);
        held = held.slice(end + 2);
        yield eventOf(block) ?? { id: "", event: "comment", data: block };
      }
    }
  } finally {
    await reader.cancel();
  }
}
