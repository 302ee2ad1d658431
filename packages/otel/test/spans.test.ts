import { createApp, durable, FatalError, MemoryStorage, type Workflow } from "@durable/core";
import { context, SpanStatusCode, trace } from "@opentelemetry/api";
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  SimpleSpanProcessor,
  type ReadableSpan,
} from "@opentelemetry/sdk-trace-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { idGenerator, telemetry } from "../src/index.ts";

const secret = "a secret for tests, of no worth";
const first = new NodeTracerProvider();
beforeAll(() => first.register());
afterAll(() => {
  trace.disable();
  context.disable();
});

function tracing({ takesIds = true, sample = 1 } = {}) {
  const exporter = new InMemorySpanExporter();
  const provider = new NodeTracerProvider({
    ...(takesIds ? { idGenerator } : {}),
    spanProcessors: [new SimpleSpanProcessor(exporter)],
  });
  const tracer = provider.getTracer("test");
  const { hooks } = telemetry({ tracer, meter: false, sample });
  const spans = (): ReadableSpan[] => exporter.getFinishedSpans();
  const named = (name: string): ReadableSpan[] => spans().filter((span) => span.name === name);
  const bound = <I, O>(flow: Workflow<I, O>, warm = 0) =>
    flow.with({ storage: new MemoryStorage(), secret, hooks, warm });
  return { tracer, hooks, spans, named, bound };
}

const ask = durable("ask", async (ctx) => {
  await ctx.step("one", () => 1);
  return ctx.suspend("answer");
});

describe("spans", () => {
  test.each([0, 10])("a run that parks and goes on has one run span, with %i warm runs", async (warm) => {
    const { bound, spans, named } = tracing();
    const flow = bound(ask, warm);
    const outcome = await flow.run(undefined, { id: "r" });
    expect(
      spans().map(({ name }) => name),
      "exported when the run parks",
    ).toEqual(
      ["attempt one", "step one", "drive ask"].toSorted(
        (a, b) => names(spans()).indexOf(a) - names(spans()).indexOf(b),
      ),
    );
    const token = outcome.status === "suspended" ? outcome.waiting[0]?.token : "";
    await flow.resume(token ?? "", 1);
    expect(named("run ask")).toHaveLength(1);
    expect(named("step one")).toHaveLength(1);
    const drives = named("drive ask").map(({ attributes }) => attributes["durable.replayed"]);
    expect(drives).toEqual([0, warm === 0 ? 1 : 0]);
    expect(new Set(spans().map((span) => span.spanContext().traceId)).size).toBe(1);
  });

  test("without our id generator, attempts stand below their drive", async () => {
    const { bound, spans, named } = tracing({ takesIds: false });
    await bound(ask).run(undefined, { id: "r" });
    const [drive] = named("drive ask");
    expect(named("attempt one")[0]?.parentSpanContext?.spanId).toBe(drive?.spanContext().spanId);
    expect(named("step one")[0]?.parentSpanContext?.spanId).toBe(drive?.spanContext().spanId);
    expect(new Set(spans().map((span) => span.spanContext().traceId)).size).toBe(1);
  });

  test("errors are on the attempt, the step, the drive and the run", async () => {
    const { bound, spans } = tracing();
    const failing = durable("failing", (ctx) =>
      ctx.step("bad", () => {
        throw new FatalError("no way");
      }),
    );
    await bound(failing).run();
    const wrong = spans().filter(
      ({ status, events }) => status.code === SpanStatusCode.ERROR && events.length === 1,
    );
    expect(names(wrong).toSorted()).toEqual(["attempt bad", "drive failing", "run failing", "step bad"]);
  });

  test("the request that drives a run is linked", async () => {
    const { bound, named, tracer } = tracing();
    const span = tracer.startSpan("POST /runs");
    await context.with(trace.setSpan(context.active(), span), () => bound(ask).run());
    expect(named("drive ask")[0]?.links.map((link) => link.context.spanId)).toEqual([
      span.spanContext().spanId,
    ]);
  });

  test("a share of runs is sampled, the same in every process", async () => {
    const traced = new Set<string>();
    for (let life = 0; life < 2; life++) {
      const { hooks, spans } = tracing({ sample: 0.5 });
      const flow = durable("f", (ctx) => ctx.step("s", () => 1));
      const world = { nonce: () => "a-fixed-nonce-xx" };
      const { systemWorld } = await import("@durable/core/storage");
      const app = createApp({
        workflows: [flow],
        storage: new MemoryStorage(),
        hooks,
        secret,
        world: { ...systemWorld, ...world },
      });
      for (let i = 0; i < 60; i++) await (await app.start("f", undefined, { id: `r${i}` })).result();
      const seen = new Set(spans().map(({ attributes }) => String(attributes["durable.run.id"])));
      if (life === 0) for (const runId of seen) traced.add(runId);
      else expect(seen).toEqual(traced);
    }
    expect(traced.size).toBeGreaterThan(10);
    expect(traced.size).toBeLessThan(50);
  });

  test("options are checked", () => {
    expect(() => telemetry({ sample: 2 })).toThrow("from 0 to 1");
    expect(() => telemetry({ tracers: 1 } as never)).toThrow('no option "tracers"');
    expect(telemetry({ tracer: false, meter: false }).hooks).toEqual([]);
  });
});

function names(spans: readonly ReadableSpan[]): string[] {
  return spans.map(({ name }) => name);
}
