/**
 * A proxy before Postgres whose open connections can be made silent, as a failover or a NAT table does: bytes are taken and
 * thrown away, and nothing is closed. Connections that are opened later work.
 */

import { connect, createServer, type AddressInfo, type Socket } from "node:net";

export interface SilentProxy {
  /** The address of the database through the proxy. */
  readonly url: string;
  /** Open connections pass nothing any more. Returns how many there are. */
  silence(): number;
  /** Closes all connections; later ones go to another server. */
  moveTo(url: string): void;
  /** Connections accepted so far. */
  readonly accepted: number;
  close(): Promise<void>;
}

export async function silentProxy(url: string): Promise<SilentProxy> {
  let target = new URL(url);
  const open = new Set<{ silent: boolean; readonly sockets: readonly Socket[] }>();
  let accepted = 0;
  const server = createServer((client) => {
    accepted += 1;
    const backend = connect(Number(target.port), target.hostname);
    const pair = { silent: false, sockets: [client, backend] };
    open.add(pair);
    const pass = (from: Socket, to: Socket): void => {
      from.setNoDelay(true);
      from.on("error", () => {});
      from.on("data", (data: Buffer) => void (pair.silent || to.write(data)));
      from.on("close", () => {
        open.delete(pair);
        to.destroy();
      });
    };
    pass(client, backend);
    pass(backend, client);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = (): void => {
    for (const { sockets } of open) for (const socket of sockets) socket.destroy();
  };
  const proxied = new URL(url);
  proxied.port = String((server.address() as AddressInfo).port);
  return {
    url: proxied.href,
    silence: () => {
      for (const pair of open) pair.silent = true;
      return open.size;
    },
    moveTo: (to) => {
      target = new URL(to);
      cut();
    },
    get accepted() {
      return accepted;
    },
    close: async () => {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
