/**
 * A small HTTP service on this machine, so that the lookup is a real request that can fail. It fails the
 * first two attempts of every request. It reads the attempt from a header instead of counting, so that the
 * demo is the same when this process, and the service with it, is killed and restarted.
 */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

export interface Harbour {
  readonly harbour: string;
  /** Heights in metres above chart datum. */
  readonly sill: number;
  readonly lowWater: { readonly time: string; readonly height: number };
  readonly highWater: { readonly time: string; readonly height: number };
  readonly moon: string;
}

const harbours: readonly Harbour[] = [
  {
    harbour: "Kestrel Cove",
    sill: 1.2,
    lowWater: { time: "06:10", height: 0.8 },
    highWater: { time: "12:22", height: 5.6 },
    moon: "full two days ago",
  },
  {
    harbour: "Port Ellis",
    sill: 0.4,
    lowWater: { time: "05:35", height: 1.1 },
    highWater: { time: "11:50", height: 3.9 },
    moon: "full two days ago",
  },
  {
    harbour: "Maren Sound",
    sill: 2.0,
    lowWater: { time: "07:02", height: 0.3 },
    highWater: { time: "13:15", height: 6.4 },
    moon: "full two days ago",
  },
];

export const attemptHeader = "x-attempt";
const failures = 2;

export interface HarbourOffice {
  readonly url: string;
  close(): void;
}

export async function openHarbourOffice(latencyMs = 0): Promise<HarbourOffice> {
  const server = createServer((request, response) => {
    void delay(latencyMs).then(() => {
      const { status, body } = answer(request.url ?? "/", Number(request.headers[attemptHeader] ?? 1));
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function answer(path: string, attempt: number): { status: number; body: unknown } {
  if (attempt <= failures) return { status: 503, body: { error: "the harbour office is out of order" } };
  const asked = new URL(path, "http://localhost").searchParams.get("harbour") ?? "";
  const found = harbours.find(({ harbour }) => harbour.toLowerCase() === asked.trim().toLowerCase());
  if (found !== undefined) return { status: 200, body: found };
  const known = harbours.map(({ harbour }) => harbour).join(", ");
  return { status: 404, body: { error: `no harbour "${asked}"; there are ${known}` } };
}
