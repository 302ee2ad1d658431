/**
 * A transaction pooler: each transaction of a client goes to the next of a few backends. As with PgBouncer in that mode,
 * nothing that belongs to a session survives, and notifications reach no client.
 */

import { createServer, type AddressInfo, type Socket } from "node:net";
import { Client } from "pg";

export interface Pooler {
  readonly url: string;
  /** Transactions that went through it. */
  readonly transactions: number;
  close(): Promise<void>;
}

interface Backend {
  readonly client: Client;
  readonly stream: Socket;
  reply: ((message: Buffer) => void) | null;
}

export async function startPooler(url: string, size = 4): Promise<Pooler> {
  const free: Backend[] = [];
  const waiting: ((backend: Backend) => void)[] = [];
  const all = await Promise.all(Array.from({ length: size }, () => openBackend(url)));
  free.push(...all);
  const sockets = new Set<Socket>();
  let transactions = 0;
  const take = (): Promise<Backend> => {
    const backend = free.shift();
    return backend === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(backend);
  };
  const give = (backend: Backend): void => {
    const next = waiting.shift();
    if (next === undefined) free.push(backend);
    else next(backend);
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.setNoDelay(true);
    let held: Backend | null = null;
    let turn: Promise<void> = Promise.resolve();
    /** Sends messages up to a Sync, and passes the replies on until the backend is ready again. */
    const exchange = async (messages: Buffer): Promise<void> => {
      const backend: Backend = held ?? (await take());
      held = backend;
      await new Promise<void>((resolve) => {
        backend.reply = (message) => {
          // "A" is a notification, "Z" says that the backend is ready: "I" outside of a transaction.
          if (message[0] !== 0x41) socket.write(message);
          if (message[0] !== 0x5a) return;
          if (message[5] === 0x49) {
            transactions += 1;
            backend.reply = null;
            held = null;
            give(backend);
          }
          resolve();
        };
        backend.stream.write(messages);
      });
    };
    let batch: Buffer[] = [];
    let begun = false;
    const receive = framed(
      () => begun,
      (message) => {
        if (!begun) {
          if (message.readInt32BE(4) === 80_877_103) return void socket.write("N");
          begun = true;
          return void socket.write(greeting());
        }
        batch.push(message);
        const kind = String.fromCharCode(message[0] ?? 0);
        if (kind === "X") return void socket.end();
        if (kind !== "S" && kind !== "Q") return;
        const messages = Buffer.concat(batch);
        batch = [];
        turn = turn.then(() => exchange(messages));
      },
    );
    socket.on("data", receive);
    socket.on("close", () => {
      sockets.delete(socket);
      // A client may leave before the end of a reply. A backend is replaced only if it is then inside of a transaction.
      void turn.then(async () => {
        if (held === null) return;
        void held.client.end().catch(() => {});
        const backend = await openBackend(url);
        all.push(backend);
        give(backend);
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const pooled = new URL(url);
  pooled.port = String((server.address() as AddressInfo).port);
  return {
    url: pooled.href,
    get transactions() {
      return transactions;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      for (const { stream } of all) stream.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A connection that `pg` has opened and that is then used byte by byte. */
async function openBackend(url: string): Promise<Backend> {
  const client = new Client({ connectionString: url });
  client.on("error", () => {});
  await client.connect();
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection;
  stream.removeAllListeners("data");
  const backend: Backend = { client, stream, reply: null };
  stream.on(
    "data",
    framed(
      () => true,
      (message) => backend.reply?.(message),
    ),
  );
  return backend;
}

/** Cuts a stream into messages. The first one of a client has no kind. */
function framed(hasKind: () => boolean, each: (message: Buffer) => void): (data: Buffer) => void {
  let rest = Buffer.alloc(0);
  return (data) => {
    rest = Buffer.concat([rest, data]);
    for (;;) {
      const at = hasKind() ? 1 : 0;
      if (rest.length < at + 4) return;
      const end = at + rest.readInt32BE(at);
      if (rest.length < end) return;
      const message = rest.subarray(0, end);
      rest = rest.subarray(end);
      each(hasKind() ? message : Buffer.concat([message]));
    }
  };
}

/** What a server says when a client has logged in. */
function greeting(): Buffer {
  const message = (kind: string, body: Buffer): Buffer => {
    const length = Buffer.alloc(4);
    length.writeInt32BE(body.length + 4);
    return Buffer.concat([Buffer.from(kind), length, body]);
  };
  const settings = { client_encoding: "UTF8", server_version: "14.0", standard_conforming_strings: "on" };
  return Buffer.concat([
    message("R", Buffer.alloc(4)),
    ...Object.entries(settings).map(([name, value]) => message("S", Buffer.from(`${name}\0${value}\0`))),
    message("K", Buffer.alloc(8)),
    message("Z", Buffer.from("I")),
  ]);
}
