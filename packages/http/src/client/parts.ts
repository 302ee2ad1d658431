/** The parts of a model's stream as `@durable/ai-sdk` records them: with a time, and with the deltas of one text as a list. */

/** A part of a stream, of any version of the AI SDK. `reset`: what came before is void, because a new attempt began. */
export interface Part {
  readonly type: string;
  readonly [field: string]: unknown;
}

export type PartChunk =
  | readonly [at: number, part: Part]
  | readonly [at: number, type: string, id: string, deltas: readonly string[]]
  | Part;

export function partsOf(chunk: PartChunk): readonly Part[] {
  if (!isList(chunk)) return [chunk];
  if (chunk.length === 2) return [chunk[1]];
  const [, type, id, deltas] = chunk;
  return deltas.map((delta) => ({ type, id, delta }));
}

function isList(chunk: PartChunk): chunk is Exclude<PartChunk, Part> {
  return Array.isArray(chunk);
}
