/** The workflow that several processes drive, and what it needs. */

import { createApp, durable, type App } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { NodeTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-node";
import { idGenerator, telemetry } from "../../src/index.ts";

/** A tool: its HTTP client makes a span, as an instrumented one does. */
async function weather(city: string): Promise<string> {
  return trace.getTracer("http").startActiveSpan("GET /weather", async (span) => {
    await new Promise((resolve) => setTimeout(resolve, 2));
    span.end();
    return `sunny in ${city}`;
  });
}

const notify = durable("notify", (ctx, text: string) => ctx.step("send", () => text.length));

/** Waits for the export of the spans that have ended. */
let exported = (): Promise<void> => Promise.resolve();

/** Its first process dies in `flaky`, the second one waits for an answer, the third one ends it. */
export const trip = durable("trip", async (ctx, city: string) => {
  const seen = await ctx.step("weather", () => weather(city));
  const booked = await ctx.step(
    "flaky",
    async ({ attempt }) => {
      if (attempt === 1) throw new Error("the airline is busy");
      if (process.env["DIES"] === "true") {
        // What has ended is exported by then, as by a process that lives for some seconds.
        await exported();
        process.kill(process.pid, "SIGKILL");
      }
      return `booked ${city}`;
    },
    { retry: { attempts: 3, delay: 1, jitter: false } },
  );
  const answer = await ctx.suspend<string>("approve");
  await ctx.child(notify, answer);
  return [seen, booked, answer];
});

/** An app whose spans go to a receiver, and a function that waits until they are there. */
export function tracedApp(
  path: string,
  url: string,
): { readonly app: App; readonly flush: () => Promise<void> } {
  const provider = new NodeTracerProvider({
    idGenerator,
    spanProcessors: [new SimpleSpanProcessor(new OTLPTraceExporter({ url }))],
  });
  provider.register();
  exported = () => provider.forceFlush();
  const { hooks } = telemetry({ meter: false });
  const storage = new SqliteStorage(path);
  const app = createApp({ storage, workflows: [trip, notify], hooks, patience: "1s" });
  return {
    app,
    flush: async () => {
      await provider.forceFlush();
      await provider.shutdown();
      await storage.close();
    },
  };
}
