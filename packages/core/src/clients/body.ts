/**
 * The body of a response in pieces that can be recorded, and what it used.
 *
 * body.1. Server-sent events are never cut: a piece holds whole events, as they were sent.
 * body.2. The event that ends an answer begins a piece of its own, so that it can be held back.
 * body.3. Usage that the events, or the whole answer, report is metered, once, also when the body breaks off.
 */

import type { StepInfo } from "../engine/calls/info.ts";
import { EventMeter } from "./usage.ts";

/** A part of a body: text, or bytes where it is none. */
export type Piece = string | Uint8Array;

/** The end of an answer in the events of OpenAI, Anthropic and Google. */
const ends =
  /^data: ?(\[DONE\]|.*("finish_reason": ?"\w|"finishReason": ?"\w|"type": ?"(message_delta|message_stop|error|response\.(completed|failed|incomplete))"))/m;

/** True for a piece with the event after which an answer is complete. */
export function endsAnswer(piece: Piece): boolean {
  return typeof piece === "string" && ends.test(piece);
}

/** The most characters of one piece of text. */
const longestPiece = 65_536;

/** The pieces of a body as they come; without a text that is recorded piece by piece, when it is complete. */
export async function* piecesOf(response: Response, info: StepInfo | undefined): AsyncGenerator<Piece> {
  const meter = new EventMeter();
  try {
    if (response.body === null) return;
    const type = response.headers.get("content-type") ?? "";
    if (/event-stream/i.test(type)) yield* eventsOf(response.body, meter);
    else if (/^text\/|json|xml|urlencoded/i.test(type)) yield* wholeText(await response.text(), meter);
    else yield* bytesOf(response.body);
  } finally {
    const { usage } = meter;
    if (usage !== undefined) info?.meter(usage);
  }
}

function* wholeText(text: string, meter: EventMeter): Generator<Piece> {
  meter.take(parsed(text));
  for (let at = 0; at < text.length; at += longestPiece) yield text.slice(at, at + longestPiece);
}

async function* eventsOf(body: ReadableStream<Uint8Array>, meter: EventMeter): AsyncGenerator<Piece> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of bytesOf(body)) {
    rest += decoder.decode(bytes, { stream: true });
    const events = rest.split(/(?<=\r?\n\r?\n|\r\r)/);
    rest = /(\n\r?\n|\r\r)$/.test(rest) ? "" : (events.pop() ?? "");
    yield* gathered(events, meter);
  }
  rest += decoder.decode();
  if (rest !== "") yield* gathered([rest], meter);
}

/** Events that came together, in one piece; those of the end in a piece of their own. */
function* gathered(events: readonly string[], meter: EventMeter): Generator<string> {
  let piece = "";
  for (const event of events) {
    meter.take(parsed(dataOf(event)));
    const isOver = piece.length + event.length > longestPiece;
    if (piece !== "" && (isOver || endsAnswer(event) !== endsAnswer(piece))) {
      yield piece;
      piece = "";
    }
    piece += event;
  }
  if (piece !== "") yield piece;
}

function dataOf(event: string): string {
  const lines = event.split(/\r?\n|\r/).filter((line) => line.startsWith("data:"));
  return lines.map((line) => line.slice(5)).join("\n");
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Without `for await`, which bodies do not know on every platform. Leaving it cancels the body. */
async function* bytesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    await reader.cancel().catch(() => {});
  }
}
