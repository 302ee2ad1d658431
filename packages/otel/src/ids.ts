/**
 * Ids of traces and spans. They are derived from the run, so that every process gives a run the same trace, and nothing
 * about traces has to be recorded.
 */

import { derivedId, traceOfSeed } from "@durable/core/inspect";
import type { Span, SpanContext } from "@opentelemetry/api";

/** Names a span, and the trace that it begins. */
interface WantedIds {
  readonly traceId?: string;
  readonly spanId: string;
}

let wanted: WantedIds | null = null;

/**
 * Pass it to the tracer provider (`idGenerator`), so that the spans of a run and of its steps have derived ids. All other
 * ids are random.
 */
export const idGenerator = {
  generateTraceId: (): string => wanted?.traceId ?? randomHex(32),
  generateSpanId: (): string => wanted?.spanId ?? randomHex(16),
};

/** Starts a span with these ids, if the provider uses the generator. */
export function startAs(ids: WantedIds, start: () => Span): Span {
  wanted = ids;
  try {
    return start();
  } finally {
    wanted = null;
  }
}

export function randomHex(length: number): string {
  const bytes = crypto.getRandomValues(new Uint8Array(length / 2));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const sampledFlag = 1;
/** Of 13 hexadecimal digits: all fit into a number. */
const most = 2 ** 52;

/** The ids of one run: of its trace, its own span, and the spans of its steps. */
export class RunIds {
  readonly #seed: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled: boolean;

  /** `sample` is the share of runs that are traced; all processes choose the same ones. */
  constructor(seed: string, sample: number) {
    this.#seed = seed;
    this.traceId = traceOfSeed(seed);
    this.spanId = derivedId(16, "run", seed);
    this.isSampled = Number.parseInt(this.traceId.slice(0, 13), 16) < sample * most;
  }

  /** The span of the run. */
  get root(): SpanContext {
    return this.#context(this.spanId);
  }

  /** The span of a step. */
  step(key: string): SpanContext {
    return this.#context(derivedId(16, "step", this.#seed, key));
  }

  #context(spanId: string): SpanContext {
    return { traceId: this.traceId, spanId, traceFlags: this.isSampled ? sampledFlag : 0, isRemote: true };
  }
}
