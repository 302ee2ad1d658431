/**
 * A proxy before Postgres that cuts connections while an append is under way, so that its outcome is unknown to the
 * client.
 */

import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { Client } from "pg";

/** What becomes of an append: it never arrives, its reply never arrives, or its backend is terminated meanwhile. */
export type Cut = "request" | "reply" | "backend";

export interface CuttingProxy {
  /** The address of the database through the proxy. */
  readonly url: string;
  /** Says for each append that passes whether and how it is cut; null leaves it alone. */
  plan: () => Cut | null;
  /** Resolves when no backend works on an append that was cut. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

export async function cuttingProxy(url: string): Promise<CuttingProxy> {
  const target = new URL(url);
  const admin = new Client({ connectionString: url });
  admin.on("error", () => {});
  await admin.connect();
  const sockets = new Set<Socket>();
  const cuts = new Set<Promise<unknown>>();
  let plan: CuttingProxy["plan"] = () => null;
  const server = createServer((client) => {
    const backend = connect(Number(target.port), target.hostname);
    let pid = 0;
    let muted = false;
    for (const socket of [client, backend]) {
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
      socket.on("error", () => {});
      socket.setNoDelay(true);
    }
    const cut = (how: Cut, data: Buffer): void => {
      muted = true;
      const over = new Promise((resolve) => backend.once("close", resolve));
      cuts.add(over);
      void over.then(() => cuts.delete(over));
      if (how === "request") return void (client.destroy(), backend.destroy());
      backend.write(data);
      if (how === "backend") void admin.query("SELECT pg_terminate_backend($1)", [pid]);
      // The statement has ended, or its backend has: the client hears of neither.
      backend.once("data", () => (client.destroy(), backend.destroy()));
      backend.once("close", () => client.destroy());
    };
    client.on("data", (data: Buffer) => {
      const how = data.includes("append_") ? plan() : null;
      if (how === null) backend.write(data);
      else cut(how, data);
    });
    backend.on("data", (data: Buffer) => {
      if (pid === 0) pid = pidIn(data);
      if (!muted) client.write(data);
    });
    client.on("close", () => muted || backend.destroy());
    backend.on("close", () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const proxied = new URL(url);
  proxied.port = String((server.address() as AddressInfo).port);
  return {
    url: proxied.href,
    get plan() {
      return plan;
    },
    set plan(next) {
      plan = next;
    },
    settled: async () => void (await Promise.all(cuts)),
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      await admin.end();
    },
  };
}

/** The number of the backend, from the message that ends the start of a session; 0 before it. */
function pidIn(data: Buffer): number {
  const at = data.indexOf(Buffer.from([0x4b, 0, 0, 0, 12]));
  return at === -1 ? 0 : data.readInt32BE(at + 5);
}
