/** Reads server-sent events, in a browser or elsewhere. Proven in test/chat-transport.test.ts. */

/** An event, or a comment. */
export interface ServerEvent {
  readonly id: string | null;
  readonly data: string | null;
  readonly comment: string | null;
}

/** The events of a response; throws when nothing came for `quietMs`, because such a connection may be dead. */
export async function* serverEvents(
  body: ReadableStream<Uint8Array>,
  quietMs: number,
): AsyncGenerator<ServerEvent, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (;;) {
      const { done, value } = await within(reader.read(), quietMs);
      if (done) return;
      text += decoder.decode(value, { stream: true });
      // The last piece is not complete; a carriage return may be the first half of a line end.
      const blocks = text.split(/\r?\n\r?\n/);
      text = blocks.pop() ?? "";
      for (const block of blocks) yield eventOf(block);
    }
  } finally {
    void reader.cancel().catch(() => {});
  }
}

function eventOf(block: string): ServerEvent {
  const lines = block.split(/\r?\n/);
  const field = (name: string): string | null => {
    const found = lines.filter((line) => line.startsWith(`${name}:`));
    return found.length === 0 ? null : found.map((line) => valueOf(line, name)).join("\n");
  };
  return { id: field("id"), data: field("data"), comment: field("") };
}

function valueOf(line: string, name: string): string {
  const value = line.slice(name.length + 1);
  return value.startsWith(" ") ? value.slice(1) : value;
}

async function within<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TypeError("network error: the connection is quiet")), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
