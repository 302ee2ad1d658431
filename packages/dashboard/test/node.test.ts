/** The server on loopback. */

import { request } from "node:http";
import { MemoryStorage } from "@durable/core";
import { afterEach, expect, test } from "vitest";
import { type DashboardServer, serveDashboard } from "../src/node/index.ts";

const open: DashboardServer[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

async function serve(options: Partial<Parameters<typeof serveDashboard>[0]> = {}): Promise<DashboardServer> {
  const server = await serveDashboard({ storage: new MemoryStorage(), port: 0, ...options });
  open.push(server);
  return server;
}

const tokenOf = ({ url }: DashboardServer): string => new URL(url).hash.slice("#token=".length);

test("has a token of its own, in the fragment alone", async () => {
  const [one, two] = [await serve(), await serve()];
  expect(tokenOf(one)).toMatch(/^[\w-]{43}$/);
  expect(tokenOf(one)).not.toBe(tokenOf(two));
  const page = await fetch(one.url);
  expect(page.status).toBe(200);
  expect((await fetch(`${one.origin}/api/runs`)).status).toBe(403);
  const runs = await fetch(`${one.origin}/api/runs`, {
    headers: { authorization: `Bearer ${tokenOf(one)}` },
  });
  expect(await runs.json()).toEqual({ runs: [], next: null });
});

test("refuses the name of another host over a real connection", async () => {
  const server = await serve();
  const { port } = new URL(server.origin);
  const ask = (headers: Record<string, string>): Promise<number> =>
    new Promise((resolve, reject) => {
      const call = request({ host: "127.0.0.1", port, path: "/api/runs", headers }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      call.on("error", reject);
      call.end();
    });
  const authorization = `Bearer ${tokenOf(server)}`;
  expect(await ask({ authorization, host: "evil.example" })).toBe(403);
  expect(await ask({ authorization, origin: "https://evil.example" })).toBe(403);
  expect(await ask({ authorization })).toBe(200);
});

test("takes the next port when one is taken, and listens on loopback unless it is told otherwise", async () => {
  const first = await serve();
  const port = Number(new URL(first.origin).port);
  const second = await serve({ port });
  expect(Number(new URL(second.origin).port)).toBeGreaterThan(port);
  expect(new URL(first.origin).hostname).toBe("127.0.0.1");
  await expect(serveDashboard({ storage: new MemoryStorage(), host: "0.0.0.0" })).rejects.toThrow(
    /token, hosts/,
  );
});

test("closes while pages are open", async () => {
  const server = await serve();
  const live = await fetch(`${server.origin}/api/events`, {
    headers: { authorization: `Bearer ${tokenOf(server)}` },
  });
  expect(live.status).toBe(200);
  await server.close();
  open.splice(0);
  await expect(fetch(server.origin)).rejects.toThrow("fetch failed");
  await live.body?.cancel().catch(() => {});
});
