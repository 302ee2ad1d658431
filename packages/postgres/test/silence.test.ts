import { createServer, type AddressInfo } from "node:net";
import { createApp, createWorker, durable } from "@durable/core";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { PostgresStorage, type PostgresOptions } from "../src/index.ts";
import { headOf, request } from "./support/head.ts";
import { freshSchema, openSchema, sharedPool } from "./support/open.ts";
import { silentProxy } from "./support/silent-proxy.ts";

const url = inject("postgres");

async function proxied(options: Partial<PostgresOptions> = {}) {
  const place = openSchema();
  const proxy = await silentProxy(url);
  // The tables are there before the first connection goes through the proxy.
  await place.open().list();
  const storage = new PostgresStorage({ url: proxy.url, schema: place.schema, ...options });
  onTestFinished(async () => {
    await storage.close();
    await proxy.close();
    await place.close();
  });
  return { place, proxy, storage };
}

const until = async (what: () => boolean): Promise<void> => {
  while (!what()) await new Promise((resolve) => setTimeout(resolve, 20));
};

test("a backend that ends in the moment in which it is ready fails one statement, and not the process", async () => {
  const message = (type: string, body: Buffer): Buffer => {
    const length = Buffer.alloc(4);
    length.writeInt32BE(body.length + 4);
    return Buffer.concat([Buffer.from(type), length, body]);
  };
  const ready = [message("R", Buffer.alloc(4)), message("Z", Buffer.from("I"))];
  const end = message("E", Buffer.from("SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0"));
  // All in one packet, as a busy client reads it.
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => void socket.end(Buffer.concat([...ready, end])));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const storage = new PostgresStorage({
    url: `postgres://u:p@127.0.0.1:${port}/d?sslmode=disable`,
    listen: false,
    migrate: false,
  });
  onTestFinished(async () => {
    await storage.close();
    await new Promise((resolve) => server.close(resolve));
  });
  await expect(storage.list()).rejects.toMatchObject({ code: "storage-busy" });
});

describe("connections that go silent", () => {
  test("a statement is given up, all connections of that time are replaced, and the next one works", async () => {
    const { proxy, storage } = await proxied({ timeout: 400, listen: false });
    // Several connections are open and idle.
    await Promise.all(Array.from({ length: 6 }, () => storage.list()));
    const before = proxy.accepted;
    expect(before).toBeGreaterThan(1);
    proxy.silence();
    await expect(storage.list()).rejects.toMatchObject({
      code: "storage-busy",
      message: expect.stringMatching(/no reply within 400 ms/),
    });
    // Not one timeout for each connection that is left.
    const replies = await Promise.all(Array.from({ length: 4 }, () => storage.list()));
    expect(replies.map(({ runs }) => runs)).toEqual([[], [], [], []]);
    expect(proxy.accepted).toBeGreaterThan(before);
  });

  test("an append is resolved by reading, and is recorded once", async () => {
    const { place, proxy, storage } = await proxied({ timeout: 400, listen: false });
    const head = headOf();
    // Under a lease, so that no notice opens a connection of its own.
    const under = { lease: { owner: "a", ttlMs: 60_000 } };
    await storage.append(request(head, 0, under));
    proxy.silence();
    await expect(storage.append(request(head, 1, under))).rejects.toMatchObject({ code: "storage-busy" });
    await storage.append(request(head, 1, under));
    expect(await place.sql(`SELECT length FROM S.runs`)).toEqual([{ length: 2 }]);
  });

  test("a worker that is alone goes on, and no step is recorded twice", async () => {
    // At full length with the options of a user who gave none.
    const { proxy, storage } = await proxied(inject("full") ? {} : { timeout: 400, poll: 500 });
    const bodies = new Map<string, number>();
    const long = durable("long", async (ctx, n: number) => {
      let sum = 0;
      for (let i = 0; i < 12; i++)
        sum += await ctx.step(`s${i}`, async () => {
          const key = `${n}/${i}`;
          bodies.set(key, (bodies.get(key) ?? 0) + 1);
          await new Promise((resolve) => setTimeout(resolve, 20));
          return i;
        });
      return sum;
    });
    const warnings: string[] = [];
    const logger = { ...console, warn: (message: string) => void warnings.push(message) };
    const app = createApp({ workflows: [long], storage, secret: "a secret for tests", logger });
    const runs = await Promise.all([1, 2, 3, 4, 5].map((n) => app.start(long, n)));
    const worker = createWorker(app);
    onTestFinished(() => worker.stop());
    await until(() => bodies.size >= 10);
    const silent = performance.now();
    proxy.silence();
    // Without another worker. The lease of 30 s does not end in this test.
    expect(await Promise.all(runs.map((run) => run.result()))).toEqual([66, 66, 66, 66, 66]);
    // Half a minute is what is promised: one timeout of 15 s, and then the work.
    expect(performance.now() - silent).toBeLessThan(30_000);
    expect([...bodies.values()].filter((times) => times > 2)).toEqual([]);
  });

  test("the listener notices it, and listens again", async () => {
    const { proxy, storage } = await proxied({ timeout: 300, poll: 300 });
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    void storage.whenDue(["nothing"], stop.signal);
    await until(() => storage.listening);
    proxy.silence();
    await until(() => !storage.listening);
    await until(() => storage.listening);
    expect(storage.listening).toBe(true);
  });

  test("the server ends a statement that takes too long, which leaves its outcome known", async () => {
    const { place, storage } = await proxied({ timeout: 3_000, listen: false });
    const head = headOf();
    await storage.append(request(head, 0));
    const blocker = await sharedPool(url).connect();
    onTestFinished(async () => {
      await blocker.query("ROLLBACK");
      blocker.release();
    });
    await blocker.query(`BEGIN; SELECT FROM ${place.schema}.runs FOR UPDATE`);
    await expect(storage.append(request(head, 1))).rejects.toMatchObject({
      code: "storage-busy",
      message: expect.stringMatching(/ended a statement that took too long/),
    });
  });
});

test("backends that are terminated again and again: all runs are done soon after it, each step once or twice", async () => {
  const place = openSchema();
  onTestFinished(() => place.close());
  const attackMs = inject("full") ? 24_000 : 2_000;
  const bodies = new Map<string, number>();
  const short = durable("short", async (ctx, n: number) => {
    for (let i = 0; i < 5; i++)
      await ctx.step(`s${i}`, () => {
        const key = `${n}/${i}`;
        bodies.set(key, (bodies.get(key) ?? 0) + 1);
      });
    return n;
  });
  const logger = { ...console, warn: () => {} };
  const secret = "a secret for tests";
  const open = () => {
    const name = `victim-${place.schema}`;
    const storage = new PostgresStorage({ url: `${url}?application_name=${name}`, schema: place.schema });
    const app = createApp({ workflows: [short], storage, secret, logger, bind: false, lease: "1 hour" });
    const worker = createWorker(app);
    onTestFinished(() => storage.close());
    onTestFinished(() => worker.stop());
    return app;
  };
  const calm = createApp({ workflows: [short], storage: place.open(), secret, logger, bind: false });
  for (let n = 0; n < (inject("full") ? 300 : 60); n++) await calm.start(short, n, { id: `r${n}` });
  for (let n = 0; n < 3; n++) open();
  const over = Date.now() + attackMs;
  let killed = 0;
  while (Date.now() < over) {
    const rows = await place.sql(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'victim-${place.schema}' ORDER BY random() LIMIT 3`,
    );
    killed += rows.length;
    await new Promise((resolve) => setTimeout(resolve, 60));
  }
  expect(killed).toBeGreaterThan(0);
  const left = async (): Promise<number> =>
    Number(
      (await place.sql<{ n: string }>(`SELECT count(*) AS n FROM S.runs WHERE status <> 'completed'`))[0]?.n,
    );
  while ((await left()) > 0) await new Promise((resolve) => setTimeout(resolve, 50));
  // A lease that nobody gives back would be longer than any test.
  const healedMs = Date.now() - over;
  if (inject("full")) console.log(`${killed} backends terminated, healed after ${healedMs} ms`);
  // A run or a worker that rests after such a fault would rest for a minute.
  expect(healedMs).toBeLessThan(10_000);
  const ended = await place.sql(`SELECT FROM S.runs WHERE owner IS NOT NULL OR held`);
  expect(ended).toEqual([]);
  expect([...bodies.values()].filter((times) => times > 3)).toEqual([]);
});

describe("an address that is wrong", () => {
  /** A port at which nothing listens. */
  async function freePort(): Promise<number> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }

  function at(change: (address: URL) => void): PostgresStorage {
    const address = new URL(url);
    change(address);
    const storage = new PostgresStorage({ url: address.href, schema: freshSchema() });
    onTestFinished(() => storage.close());
    return storage;
  }

  test("a port at which nothing listens is named, and nothing was written", async () => {
    const port = await freePort();
    const storage = at((address) => void (address.port = String(port)));
    await expect(storage.append(request(headOf(), 0))).rejects.toMatchObject({
      code: "storage-busy",
      message: expect.stringMatching(
        new RegExp(`no server accepts connections there, so nothing was written.*${port}`),
      ),
    });
  });

  test.each([
    ["TLS that the server has not", (address: URL) => address.searchParams.set("sslmode", "require"), /TLS/],
    ["a host that does not exist", (address: URL) => (address.hostname = "no-such-host.invalid"), /host/],
    ["a wrong password", (address: URL) => (address.password = "wrong"), /the user or the password/],
    ["a database that is missing", (address: URL) => (address.pathname = "/nowhere"), /does not exist/],
  ])("%s is a failure, and not busy", async (_what, change, message) => {
    const storage = at((address) => {
      change(address);
    });
    await expect(storage.append(request(headOf(), 0))).rejects.toMatchObject({
      code: "storage-failed",
      message: expect.stringMatching(message),
    });
  });
});
