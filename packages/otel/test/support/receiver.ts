/** A server that receives spans as OTLP over HTTP, in JSON, and keeps them. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for the root of a trace. */
  readonly parentSpanId: string;
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly isError: boolean;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
}

interface Otlp {
  readonly resourceSpans?: readonly {
    readonly scopeSpans?: readonly {
      readonly spans?: readonly {
        readonly traceId: string;
        readonly spanId: string;
        readonly parentSpanId?: string;
        readonly name: string;
        readonly startTimeUnixNano: string;
        readonly endTimeUnixNano: string;
        readonly status?: { readonly code?: number };
        readonly attributes?: readonly { readonly key: string; readonly value: Record<string, unknown> }[];
        readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
      }[];
    }[];
  }[];
}

export interface Receiver {
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  close(): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  const spans: ReceivedSpan[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      spans.push(...spansOf(JSON.parse(Buffer.concat(parts).toString()) as Otlp));
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1/traces`,
    spans,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function spansOf({ resourceSpans = [] }: Otlp): ReceivedSpan[] {
  const all = resourceSpans.flatMap(({ scopeSpans = [] }) => scopeSpans.flatMap(({ spans = [] }) => spans));
  return all.map((span) => ({
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId ?? "",
    name: span.name,
    startMs: Number(BigInt(span.startTimeUnixNano) / 1_000_000n),
    endMs: Number(BigInt(span.endTimeUnixNano) / 1_000_000n),
    isError: span.status?.code === 2,
    attributes: Object.fromEntries(
      (span.attributes ?? []).map(({ key, value }) => [key, Object.values(value)[0]]),
    ),
    links: (span.links ?? []).map(({ traceId, spanId }) => ({ traceId, spanId })),
  }));
}
