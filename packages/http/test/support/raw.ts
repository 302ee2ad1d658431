/** Sends raw bytes to a port, for requests that no client library would send. */

import { connect, type Socket } from "node:net";

export interface RawAnswer {
  /** Statuses of all answers on the connection, in order. */
  readonly statuses: number[];
  readonly text: string;
  /** The connection was closed by the server, or was dead when the time ran out. */
  readonly closed: boolean;
}

type Piece = string | Uint8Array | ((socket: Socket) => Promise<void>);

/** Sends pieces one after the other, and reads until the server closes or the time runs out. */
export async function raw(port: number, pieces: readonly Piece[], waitMs = 20_000): Promise<RawAnswer> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  let text = "";
  let closed = false;
  const over = new Promise<void>((resolve) => {
    socket.on("data", (data) => (text += data.toString("latin1")));
    socket.on("end", () => {
      closed = true;
      resolve();
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      closed = true;
      resolve();
    });
    setTimeout(resolve, waitMs).unref();
  });
  for (const piece of pieces) {
    if (closed) break;
    if (typeof piece === "function") await piece(socket);
    else socket.write(piece);
  }
  await over;
  // Without the minute a closed connection would take up its port.
  socket.resetAndDestroy();
  return {
    statuses: [...text.matchAll(/^HTTP\/1\.1 (\d{3}) /gm)].map(([, status]) => Number(status)),
    text,
    closed,
  };
}

/** A request as it goes over the wire; the connection ends with its answer. */
export function wire(line: string, headers: Record<string, string | readonly string[]>, body = ""): string {
  const list = Object.entries({ host: "lab.example", connection: "close", ...headers }).flatMap(
    ([name, value]) => [value].flat().map((one) => `${name}: ${one}\r\n`),
  );
  return `${line} HTTP/1.1\r\n${list.join("")}\r\n${body}`;
}

export const pause = (ms: number) => (): Promise<void> =>
  new Promise((done) => {
    setTimeout(done, ms);
  });
