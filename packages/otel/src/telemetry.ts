/** `telemetry()`: the hooks that make spans and metrics of runs. */

import { DurableError, type App, type Duration, type Storage } from "@durable/core";
import { assertOptions, toMs } from "@durable/core/storage";
import type { Hooks } from "@durable/core/hooks";
import type { Prices } from "@durable/core/inspect";
import { metrics, trace, type Meter, type Tracer } from "@opentelemetry/api";
import { observeRuns } from "./gauges.ts";
import { metricHooks } from "./metrics.ts";
import { spanHooks } from "./spans.ts";
import { measuredStorage } from "./storage.ts";

/** Options of `telemetry`. */
export interface TelemetryOptions {
  /** Makes the spans; a tracer of the global provider by default. `false` makes none. */
  readonly tracer?: Tracer | false | undefined;
  /** Makes the metrics; a meter of the global provider by default. `false` makes none. */
  readonly meter?: Meter | false | undefined;
  /** Prices of models, for the metric `durable.cost`; by default what each call was recorded to cost, by the prices of the app. */
  readonly prices?: Prices | undefined;
  /** The share of runs that have spans, from 0 to 1; all by default. All processes choose the same runs. */
  readonly sample?: number | undefined;
}

/** Options of `observe`. */
export interface ObserveOptions {
  /** The storage is asked at most once within this time; "15s" by default. */
  readonly every?: Duration | undefined;
  /** How many runs of each status are counted where the storage cannot count them itself, as in buckets; 1,000 by default. */
  readonly most?: number | undefined;
}

/** Hooks that make spans and metrics. */
export interface Telemetry {
  /** For `createApp`, `durable` or `createWorker`. */
  readonly hooks: readonly Hooks[];
  /**
   * Measures the calls to a storage: `createApp({ storage: otel.storage(storage) })`. It is the same storage otherwise.
   */
  storage<S extends Storage>(storage: S): S;
  /**
   * Reports what the runs of an app do, its workers, its schedules and its quotas, when metrics are collected. Returns a
   * function that stops it. One process of a fleet is enough.
   */
  observe(app: App, options?: ObserveOptions): () => void;
}

const name = "@durable/otel";

/** Spans and metrics of runs, through OpenTelemetry: `createApp({ workflows, hooks: telemetry().hooks })`. */
export function telemetry(options: TelemetryOptions = {}): Telemetry {
  assertOptions(options, "tracer meter prices sample", "telemetry");
  const { tracer, meter, prices, sample = 1 } = options;
  if (!(sample >= 0 && sample <= 1))
    throw new DurableError(
      "invalid-options",
      `The \`sample\` of telemetry must be from 0 to 1, not ${sample}.`,
    );
  const makesMetrics = meter !== false;
  const chosenMeter = (): Meter => (meter === undefined || meter === false ? metrics.getMeter(name) : meter);
  // Looked up for each span, because the provider may be registered later.
  const chosenTracer = (): Tracer =>
    tracer === undefined || tracer === false ? trace.getTracer(name) : tracer;
  return {
    hooks: [
      ...(tracer === false ? [] : [spanHooks({ tracer: chosenTracer, sample })]),
      ...(makesMetrics ? [metricHooks(chosenMeter, prices)] : []),
    ],
    storage: (storage) => (makesMetrics ? measuredStorage(storage, chosenMeter) : storage),
    observe: (app, given = {}) => {
      assertOptions(given, "every most", "telemetry().observe");
      const { every = 15_000, most = 1_000 } = given;
      const everyMs = toMs(every, "every of telemetry().observe");
      return makesMetrics ? observeRuns(chosenMeter(), app, { everyMs, most }) : () => {};
    },
  };
}
