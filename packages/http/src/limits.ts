/** The numbers behind every request. Limits of bodies are counted while they are read, and crossing one is a 4xx with a code. */

import type { Duration } from "@durable/core";
import { assertOptions, toMs } from "@durable/core/storage";

/**
 * Limits of requests and their answers. Limits of bodies are counted while they are read; crossing one is answered with
 * 4xx and a code.
 */
export interface Limits {
  /** Bytes of a body; 1 MiB by default. */
  readonly bytes: number;
  /** The time in which a body must arrive, in milliseconds or as a text such as "10s"; 10 s by default. */
  readonly bodyTimeout: number;
  /** Nesting of JSON; 64 by default. */
  readonly depth: number;
  /** Members of all objects of a JSON text, or fields of a form; 10,000 by default. */
  readonly keys: number;
  /** Values of a JSON text, and names of members; 50,000 by default. */
  readonly nodes: number;
  /** Bytes of one JSON string; 1 MiB by default. */
  readonly stringBytes: number;
  /** Streams that one handler sends at the same time; 1,000 by default. */
  readonly streams: number;
  /** Streams of one scope, as `authorize` names it, at the same time; 100 by default. */
  readonly streamsPerScope: number;
  /** Bytes at which a page of entries is closed; 4 MiB by default. A single larger entry is still sent, alone. */
  readonly pageBytes: number;
}

/** The limits that apply where you set none. */
export const defaultLimits: Limits = {
  bytes: 1024 * 1024,
  bodyTimeout: 10_000,
  depth: 64,
  keys: 10_000,
  nodes: 50_000,
  stringBytes: 1024 * 1024,
  streams: 1_000,
  streamsPerScope: 100,
  pageBytes: 4 * 1024 * 1024,
};

/** Some of the limits; an `undefined` counts as left out. */
export type GivenLimits = {
  readonly [Name in keyof Limits]?: (Name extends "bodyTimeout" ? Duration : number) | undefined;
};

export function limitsOf(given: GivenLimits = {}): Limits {
  assertOptions(given, Object.keys(defaultLimits), "`limits`", "limit");
  const { bodyTimeout = defaultLimits.bodyTimeout, ...rest } = given;
  const set = Object.entries(rest).filter(([, limit]) => limit !== undefined);
  const limits = Object.fromEntries(set) as Partial<Limits>;
  return { ...defaultLimits, ...limits, bodyTimeout: toMs(bodyTimeout, "`limits.bodyTimeout`") };
}
