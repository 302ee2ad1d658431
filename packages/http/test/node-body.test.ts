/** Bodies over the Node server: streaming both ways with backpressure, and bodies that are not read. */

import { expect, test, vi } from "vitest";
import { pause, raw, wire } from "./support/raw.ts";
import { served } from "./support/served.ts";

test("a body comes as it is sent, and is not read ahead of the handler", async () => {
  const { port } = await served(async (request) => {
    const reader = (request.body as ReadableStream<Uint8Array>).getReader();
    const first = await reader.read();
    const second = await reader.read();
    await reader.cancel();
    return new Response(`${first.value?.length} ${second.value?.length}`);
  });
  const head = wire("POST /", { "transfer-encoding": "chunked" });
  const { text } = await raw(port, [
    head,
    "3\r\nabc\r\n",
    () => new Promise((go) => setTimeout(go, 30)),
    "2\r\nde\r\n",
  ]);
  expect(text).toContain("3 2");
});

test("who sends more than is wanted hears the answer all the same, and is not read for long", async () => {
  const { port, url } = await served(() => new Response("enough", { status: 413 }));
  for (const size of [2_000_000, 8_000_000]) {
    const response = await fetch(url, { method: "POST", body: new Uint8Array(size) });
    expect([response.status, await response.text()]).toEqual([413, "enough"]);
  }
  // The rest of the body was discarded when the response ends, so the connection stays usable.
  const head = wire("POST /", { "content-length": "100000" });
  const late = await raw(port, [head, "x".repeat(50_000), pause(50), "x".repeat(50_000)]);
  expect(late).toMatchObject({ statuses: [413], closed: true });
  for (const connection of ["close", "keep-alive"]) {
    const headers = { connection, "content-length": "100000" };
    // Sooner than Node's keep-alive timeout.
    const never = await raw(port, [wire("POST /", headers), "x".repeat(50_000)], 4_000);
    expect(never).toMatchObject({ statuses: [413], closed: true });
  }
});

test("a request that does not arrive in time is cut off, in its head or in its body", async () => {
  const echo = async (request: Request): Promise<Response> =>
    new Response(await request.text().catch(() => "cut"));
  const { port } = await served(echo, { requestTimeout: 600 });
  const head = wire("POST /", { connection: "keep-alive", "content-length": "10" });
  for (const part of [head.slice(0, 20), `${head}12345`])
    expect((await raw(port, [part])).closed, part).toBe(true);
  const { port: patient } = await served(echo, { requestTimeout: 60_000 });
  expect((await raw(patient, [wire("POST /", { "content-length": "2" }, "ok")])).statuses).toEqual([200]);
});

test("a body that the handler does not read stays with its sender", async () => {
  const go = Promise.withResolvers<void>();
  const { port } = await served(async (request) => {
    await (request.body as ReadableStream<Uint8Array>).getReader().read();
    await go.promise;
    return new Response("enough", { status: 413 });
  });
  const size = 32 * 1024 * 1024;
  let left = 0;
  await raw(port, [
    wire("POST /", { "content-length": String(size) }),
    async (socket) => {
      socket.write(Buffer.alloc(size));
      await pause(400)();
      left = socket.writableLength;
      go.resolve();
    },
  ]);
  expect(left).toBeGreaterThan(size / 2);
});

test("a body that is refused unread, and is all there, is not waited for: the connection goes on", async () => {
  const { port } = await served(() => new Response("no", { status: 415 }));
  // Time stands still, so a wait for a timer would never end.
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  try {
    const kept = wire("POST /", { connection: "keep-alive", "content-length": "300" }, "x".repeat(300));
    const { statuses } = await raw(port, [kept, kept, wire("POST /", { "content-length": "3" }, "end")]);
    expect(statuses).toEqual([415, 415, 415]);
  } finally {
    vi.useRealTimers();
  }
});

test("an answer may begin before the request has ended", async () => {
  const { url } = await served((request) => new Response(request.body));
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const init = { method: "POST", body: readable, duplex: "half" } as RequestInit;
  const asked = fetch(url, init);
  await writer.write(new TextEncoder().encode("one"));
  const reader = ((await asked).body as ReadableStream<Uint8Array>).getReader();
  const seen = [new TextDecoder().decode((await reader.read()).value)];
  await writer.write(new TextEncoder().encode("two"));
  seen.push(new TextDecoder().decode((await reader.read()).value));
  await writer.close();
  expect([...seen, (await reader.read()).done]).toEqual(["one", "two", true]);
});

test("a large answer goes out no faster than it is taken", async () => {
  let given = 0;
  const { url } = await served(
    () =>
      new Response(
        new ReadableStream(
          {
            pull: (controller) => {
              given += 1;
              if (given > 1_000) return controller.close();
              controller.enqueue(new Uint8Array(64 * 1024));
            },
          },
          { highWaterMark: 0 },
        ),
      ),
  );
  const response = await fetch(url);
  await new Promise((go) => setTimeout(go, 100));
  expect(given).toBeLessThan(500);
  expect((await response.arrayBuffer()).byteLength).toBe(1_000 * 64 * 1024);
});
