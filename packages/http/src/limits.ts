/** Limits of requests. Proven in test/body.test.ts. */

/**
 * The limits of every request. Each is checked while the request is read; exceeding one is a 4xx with a code.
 */
export interface Limits {
  /** Bytes of a body; 1 MiB by default. */
  readonly bytes: number;
  /** Milliseconds a body may take to arrive; 10 s by default. */
  readonly readMs: number;
  /** Nesting of JSON; 64 by default. */
  readonly depth: number;
  /** Members of all objects of a JSON text, or fields of a form; 10,000 by default. */
  readonly keys: number;
  /** Bytes of one JSON string; 1 MiB by default. */
  readonly stringBytes: number;
  /** Streams that one handler sends at the same time; 1,000 by default. */
  readonly streams: number;
}

export const defaultLimits: Limits = {
  bytes: 1024 * 1024,
  readMs: 10_000,
  depth: 64,
  keys: 10_000,
  stringBytes: 1024 * 1024,
  streams: 1_000,
};

export const limitsOf = (given: Partial<Limits> | undefined): Limits => ({ ...defaultLimits, ...given });
