/** The library's transport, which reconnects by itself, and what the page wants to know about its connections. */

import { durableChatTransport, type DurableChatTransport } from "@durable/ai-sdk/chat-client";

export interface TransportEvents {
  /** The server did not respond, or a connection broke. */
  onLost(): void;
  /** The server responds again. */
  onFound(): void;
  /** A response that streams a run begins; `isNew` if this page asked for the run. */
  onRun(runId: string, isNew: boolean): void;
}

export function createTransport(events: TransportEvents): DurableChatTransport {
  return durableChatTransport({
    fetch: async (input, init) => {
      const isNew = init?.method === "POST";
      // The rest of an answer is requested only after its connection broke.
      if (typeof input === "string" && input.includes("from=")) events.onLost();
      const response = await fetch(input, init).catch((error: unknown) => {
        events.onLost();
        throw error;
      });
      const runId = response.headers.get("x-durable-run-id");
      if (runId !== null) events.onRun(runId, isNew);
      events.onFound();
      return response;
    },
    // The server knows what was said before.
    sends: "last",
    // A page waits for its server for as long as it is open.
    retry: { times: Number.POSITIVE_INFINITY, mostMs: 2_000 },
    // A page that shows another chat does not stop the answer of this one.
    stopOnAbort: false,
  });
}
