/** Server-sent events by fetch, because an EventSource cannot send a header. */

interface Reading {
  readonly signal: AbortSignal;
  /** Called with the name of each event and its data; "open" and "error" are about the connection itself. */
  readonly act: (name: string, data: unknown) => void;
}

/** How long to wait before the next connection, after one that broke. */
const pauseMs = 2_000;

/** Reads until the signal ends it. A connection that breaks is opened again; one that was refused is not. */
export async function readEvents(open: () => Promise<Response>, { signal, act }: Reading): Promise<void> {
  while (!signal.aborted) {
    try {
      const response = await open();
      const isRefused = response.status >= 400 && response.status < 500 && response.status !== 429;
      if (response.ok && response.body !== null) {
        act("open", null);
        await readAll(response.body, (name, data) => signal.aborted || act(name, data));
      }
      if (!signal.aborted) act("error", null);
      if (isRefused) return;
    } catch {
      if (!signal.aborted) act("error", null);
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

async function readAll(
  body: ReadableStream<Uint8Array>,
  act: (name: string, data: unknown) => void,
): Promise<void> {
  const reader = body.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (text + value).split("\n\n");
    text = parts.pop() ?? "";
    for (const part of parts) {
      const lines = part.split("\n");
      const fieldOf = (name: string): string | undefined =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      const [event, data] = [fieldOf("event"), fieldOf("data")];
      if (event !== undefined && data !== undefined) act(event, JSON.parse(data));
    }
  }
}
