/** What another server over an app gets from this package. */

import { expect, test, vi } from "vitest";
import { HttpError } from "../src/index.ts";
import { eventStream, findRoute, isForeign, type Routes, StreamSlots } from "../src/kit.ts";

const request = (path: string, init: RequestInit = {}): Request =>
  new Request(`https://ops.example.com${path}`, init);

test("a page of another origin is recognized; strict also where Sec-Fetch-Site says otherwise", () => {
  const [own, other] = ["https://ops.example.com", "https://evil.example"];
  const verdicts = (headers: Record<string, string>): boolean[] =>
    [false, true].map((strict) => isForeign(request("/", { headers }), { strict }));
  expect(verdicts({})).toEqual([false, false]);
  expect(verdicts({ origin: own })).toEqual([false, false]);
  expect(verdicts({ origin: other })).toEqual([true, true]);
  expect(verdicts({ "sec-fetch-site": "same-site", origin: own })).toEqual([true, true]);
  expect(verdicts({ "sec-fetch-site": "same-origin", origin: own })).toEqual([false, false]);
  // A proxy that replaces Host makes such requests.
  expect(verdicts({ "sec-fetch-site": "same-origin", origin: other })).toEqual([false, true]);
  expect(verdicts({ "sec-fetch-site": "" })).toEqual([false, true]);
});

test("a route is found by path and method, with its parameters and a checked run id", () => {
  const routes: Routes<string> = [
    ["runs", { GET: "list" }],
    ["runs/{runId}/messages/{topic}", { POST: "send" }],
  ];
  const find = (path: string, method = "GET"): unknown => {
    try {
      const { route, call } = findRoute(routes, request(path, { method }), { basePath: "/api" });
      return [route, call.runId, call.params];
    } catch (error) {
      return error instanceof HttpError ? error.code : (error as { code?: unknown }).code;
    }
  };
  expect(find("/api/runs", "HEAD")).toEqual(["list", "", {}]);
  expect(find("/api/runs/r1/messages/a%2Fb", "POST")).toEqual(["send", "r1", { runId: "r1", topic: "a/b" }]);
  expect(find("/api/runs", "POST")).toBe("method-not-allowed");
  expect(find("/api/runs/..%2fx/messages/a", "POST")).toBe("invalid-id");
  expect(find("/api/runs/%zz/messages/a", "POST")).toBe("invalid-path");
  for (const path of ["/api", "/apiruns", "/runs", "/api/runs/", "/api/runs//messages/a"])
    expect(find(path), path).toBe("no-route");
});

test("a source of events is ended when its client leaves, also while a text waits to be taken", async () => {
  const [slots, abort, ended] = [new StreamSlots(), new AbortController(), vi.fn<() => void>()];
  const texts = (async function* () {
    try {
      for (;;) yield "event: x\ndata: 1\n\n";
    } finally {
      ended();
    }
  })();
  const response = eventStream(texts, {
    slots,
    scope: undefined,
    keepAliveMs: 1_000,
    abort,
    client: undefined,
  });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  expect(new TextDecoder().decode((await reader.read()).value)).toBe("event: x\ndata: 1\n\n");
  expect([slots.open, abort.signal.aborted]).toEqual([1, false]);
  await reader.cancel();
  expect([slots.open, abort.signal.aborted]).toEqual([0, true]);
  await vi.waitFor(() => expect(ended).toHaveBeenCalledOnce());
});
