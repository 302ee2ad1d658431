/**
 * Ids of traces and spans. They are derived from the run, so that every process gives a run the same trace, and nothing
 * about traces has to be recorded.
 */

import { fingerprint } from "@durable/core/storage";
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
    this.traceId = derived(32, "trace", seed);
    this.spanId = derived(16, "run", seed);
    this.isSampled = Number.parseInt(this.traceId.slice(0, 13), 16) < sample * most;
  }

  /** The span of the run. */
  get root(): SpanContext {
    return this.#context(this.spanId);
  }

  /** The span of a step. */
  step(key: string): SpanContext {
    return this.#context(derived(16, "step", this.#seed, key));
  }

  #context(spanId: string): SpanContext {
    return { traceId: this.traceId, spanId, traceFlags: this.isSampled ? sampledFlag : 0, isRemote: true };
  }
}

const alphabet = "abcdefghijklmnopqrstuvwxyz234567";

/** Hexadecimal digits of a hash. A fingerprint has 16 characters of 5 bits each, so two of them make an id. */
function derived(digits: number, ...parts: readonly string[]): string {
  const text = fingerprint(parts) + (digits > 16 ? fingerprint(["more", ...parts]) : "");
  let bits = 0n;
  for (const character of text) bits = (bits << 5n) | BigInt(alphabet.indexOf(character));
  return bits.toString(16).padStart(digits, "0").slice(-digits);
}
