/**
 * The bodies of generated steps and streams, and what they return in calm trees. Proven in test/sim.test.ts.
 */

import { FatalError, type StepInfo } from "@durable/core";
import type { Tree } from "./tree.ts";
import type { Frame } from "./environment.ts";

type Step = Tree & { kind: "step" };
type Stream = Tree & { kind: "stream" };

export async function work(
  node: Step,
  info: StepInfo,
  { environment, place, runId }: Frame,
): Promise<unknown> {
  environment.begins(runId, place);
  const nonce = environment.nonce();
  const value = nonce === null ? calmValue(node, place) : (largeValue(node, nonce, place) ?? nonce);
  environment.pairs?.made(place, nonce);
  // The effect comes first, so that an attempt that fails, dies or is aborted afterwards has still made it.
  if (node.onUncertain !== undefined) environment.effect(info, value);
  if (node.ms > 0) await environment.pause(node.ms);
  // A failed attempt records what it has reached.
  if (info.attempt <= node.fails) info.heartbeat(info.attempt);
  if (node.fails === 9) throw new FatalError("never works");
  if (info.attempt <= node.fails) throw new Error(`fails at attempt ${info.attempt}`);
  if (nonce === null || !node.typed || node.large !== undefined) return value;
  // The object changes after it was returned; the record must hold the returned state.
  const typed = { nonce, at: new Date(nonce.length), bag: new Set([nonce]), none: undefined };
  void environment.pause(1).then(() => typed.bag.clear());
  return typed;
}

/** Undoes a step. */
export function undo(
  { ms, fails }: NonNullable<Step["compensate"]>,
  { environment }: Frame,
): (info: StepInfo) => Promise<unknown> {
  return async ({ attempt }) => {
    if (ms > 0) await environment.pause(ms);
    if (fails === 9) throw new FatalError("cannot be undone");
    if (attempt <= fails) throw new Error(`fails at attempt ${attempt}`);
    return environment.nonce();
  };
}

/** The chunks of one attempt; a failing attempt yields half of them first. */
export async function* chunksOf(
  node: Stream,
  info: StepInfo,
  { environment, place, runId }: Frame,
): AsyncGenerator<unknown, void, undefined> {
  environment.begins(runId, place);
  const fails = info.attempt <= node.fails;
  const count = fails ? node.chunks >> 1 : node.chunks;
  for (let i = 0; i < count; i++) {
    if (node.ms > 0) await environment.pause(node.ms);
    environment.begins(runId, place);
    yield environment.nonce() ?? calmChunk(node, place, i);
  }
  if (fails && node.stalls === true) {
    await environment.pause(3 * (node.timeoutMs ?? 0));
    yield environment.nonce() ?? calmChunk(node, place, count);
    return;
  }
  if (node.fails === 9) throw new FatalError("never works");
  if (fails) throw new Error(`fails at attempt ${info.attempt}`);
}

/** A large value with parts that other values share, and one mark of its own. */
function largeValue({ large }: Step, mark: string, place: string): unknown {
  if (large === undefined) return undefined;
  // Lists of different lengths share their beginnings, and texts their pieces.
  const length = 24 + (place.length % 7);
  if (large === "fields")
    return Object.fromEntries([
      ...filler.slice(0, length).map((text, i) => [`field ${i}`, text]),
      ["mark", mark],
    ]);
  if (large === "text") return [mark, filler.slice(0, length).join("\n").repeat(4)];
  return [...filler.slice(0, length), mark];
}

const filler = Array.from({ length: 32 }, (_, i) =>
  `part ${i} `.padEnd(160 + (i % 5) * 20, `of a text ${i * 7} `),
);

export function calmValue(node: Step, place: string): unknown {
  const text = `${node.name} at ${place}`;
  return largeValue(node, text, place) ?? text;
}

export function calmChunks(node: Stream, place: string): unknown[] {
  return Array.from({ length: node.chunks }, (_, i) => calmChunk(node, place, i));
}

function calmChunk({ name }: Stream, place: string, index: number): string {
  return `${name} at ${place}, ${index}`;
}

export function calmAnswer(name: string): unknown {
  return { ok: `answer to ${name}` };
}
