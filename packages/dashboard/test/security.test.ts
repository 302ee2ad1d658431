/** Who may ask, and what every response says. */

import { createApp, durable, MemoryStorage } from "@durable/core";
import { describe, expect, test, vi } from "vitest";
import { type OpenedSession, sessionHeader } from "../src/api.ts";
import { createDashboard } from "../src/index.ts";
import { origin, Site, token } from "./support/ask.ts";

const storage = new MemoryStorage();
const secret = "a secret for tests that is long enough 8f2k";
const flow = durable("flow", (ctx) => ctx.step("one", () => 1)).with({ storage, secret });
await flow.run(undefined, { id: "r1" });
const app = createApp({ storage, secret, workflows: [flow], bind: false });
const site = new Site({ app });

const reads = [
  "session",
  "runs",
  "counts",
  "pulse",
  "cost",
  "evals",
  "evals/r1",
  "attention",
  "inbox",
  "events",
  "diff?before=r1&after=r1",
  "runs/r1",
  "runs/r1/step?key=one",
  "runs/r1/waits",
  "runs/r1/journal",
  "runs/r1/stream?key=one",
  "runs/r1/tree",
  "runs/r1/export",
  "operations",
];
const changes = [
  ...["plan", "answer", "fork", "retry", "wake", "cancel", "pause", "unpause", "score", "messages/note"].map(
    (name) => `runs/r1/${name}`,
  ),
  ...["pause", "unpause", "trigger", "delete"].map((name) => `schedules/daily/${name}`),
  "workflows/one/pause",
  "workflows/one/unpause",
  "purge",
];

const codeOf = async (response: Response): Promise<string> =>
  ((await response.json()) as { error: { code: string } }).error.code;

/** Every route, with one thing wrong. */
async function everywhere(headers: Record<string, string>): Promise<Set<string>> {
  const seen = new Set<string>();
  for (const path of reads) {
    const response = await site.fetch(`/api/${path}`, { headers });
    seen.add(`${response.status} ${await codeOf(response)}`);
  }
  for (const path of changes) {
    const response = await site.fetch(`/api/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: "{}",
    });
    seen.add(`${response.status} ${await codeOf(response)}`);
  }
  return seen;
}

describe("every route refuses", () => {
  test("a host name of somebody else (DNS rebinding), the page included", async () => {
    for (const host of [
      "evil.example",
      "evil.example:4777",
      "localhost.evil.example",
      "127.0.0.1.nip.io:4777",
      "0.0.0.0:4777",
    ])
      expect(await everywhere({ host }), host).toEqual(new Set(["403 wrong-host"]));
    const page = await site.fetch("/", { headers: { host: "evil.example" } });
    expect(page.status).toBe(403);
  });

  test("a page of another origin, with the session of another page", async () => {
    const session = { [sessionHeader]: await sessionOf() };
    for (const site of ["cross-site", "same-site"])
      expect(await everywhere({ "sec-fetch-site": site, ...session }), site).toEqual(
        new Set(["403 cross-site"]),
      );
    for (const origin of ["https://evil.example", "http://localhost:3000", "null"])
      for (const claim of [{}, { "sec-fetch-site": "same-origin" }, { "sec-fetch-site": "none" }])
        expect(await everywhere({ origin, ...session, ...claim }), origin).toEqual(
          new Set(["403 cross-site"]),
        );
    expect(await everywhere({ "sec-fetch-site": "", ...session })).toEqual(new Set(["403 cross-site"]));
  });

  test("a request without the token, with a wrong one, and with a made-up session or any cookie", async () => {
    for (const authorization of [
      "",
      "Bearer ",
      `Bearer ${token}x`,
      `Bearer ${token.slice(1)}`,
      `Basic ${token}`,
    ])
      expect(await everywhere({ authorization }), authorization).toEqual(new Set(["403 forbidden"]));
    const session = await sessionOf();
    const [nonce, until, mac] = session.split(".") as [string, string, string];
    for (const made of [
      "",
      token,
      mac,
      `${nonce}.${Number(until) + 1}.${mac}`,
      `${nonce.replace(/^./, (char) => (char === "0" ? "1" : "0"))}.${until}.${mac}`,
      `${nonce}.${until}.${"0".repeat(64)}`,
      `${session}0`,
    ])
      expect(await everywhere({ authorization: "", [sessionHeader]: made }), made).toEqual(
        new Set(["403 forbidden"]),
      );
    // A cookie goes to every server of the host, so none counts.
    for (const cookie of [`durable_4777=${session}`, `durable=${token}`, `${sessionHeader}=${session}`])
      expect(await everywhere({ authorization: "", cookie }), cookie).toEqual(new Set(["403 forbidden"]));
  });
});

async function sessionOf(): Promise<string> {
  const opened = await site.fetch("/api/session", { method: "POST" });
  expect(opened.headers.get("set-cookie")).toBeNull();
  return ((await opened.json()) as OpenedSession).session;
}

const withSession = (session: string, method = "GET", path = "/api/runs"): Promise<Response> =>
  site.fetch(path, { method, headers: { authorization: "", [sessionHeader]: session } });

describe("the token", () => {
  test("is exchanged for a session that says nothing about it, another one each time", async () => {
    const [one, two] = [await sessionOf(), await sessionOf()];
    expect(one).not.toBe(two);
    expect(one).not.toContain(token);
    expect((await withSession(one)).status).toBe(200);
  });

  test("a session ends when its page logs out, and others stay", async () => {
    const [one, two] = [await sessionOf(), await sessionOf()];
    expect((await withSession(one, "DELETE", "/api/session")).status).toBe(200);
    expect((await withSession(one)).status).toBe(403);
    expect((await withSession(two)).status).toBe(200);
    // Nobody is logged out by a session that was made up.
    const made = `${two.slice(0, -1)}${two.endsWith("0") ? "1" : "0"}`;
    await withSession(made, "DELETE", "/api/session");
    expect((await withSession(two)).status).toBe(200);
  });

  test("a session lasts twelve hours, and opens no other", async () => {
    const session = await sessionOf();
    const hours = (Number(session.split(".")[1]) - Date.now()) / 3_600_000;
    expect(hours).toBeGreaterThan(11.9);
    expect(hours).toBeLessThanOrEqual(12);
    const clock = vi.spyOn(Date, "now").mockReturnValue(Number(session.split(".")[1]));
    expect((await withSession(session)).status).toBe(403);
    clock.mockReturnValue(Number(session.split(".")[1]) - 1);
    expect((await withSession(session)).status).toBe(200);
    clock.mockRestore();
  });

  test.each([
    ["of 32 equal letters", "a".repeat(32)],
    ["of one word", "changeme-changeme-changeme-changeme"],
    ["of two letters", "ab".repeat(20)],
    ["that is short", "q2tAmZ0rXo5u1cWc"],
  ])("%s is refused", (_what, weak) => {
    expect(() => createDashboard({ storage, token: weak })).toThrow(/openssl rand -base64 32/);
  });

  test("opens no session when it is wrong", async () => {
    const opened = await site.fetch("/api/session", {
      method: "POST",
      headers: { authorization: `Bearer ${"x".repeat(40)}` },
    });
    expect(opened.status).toBe(403);
    expect(await opened.json()).toMatchObject({ error: { code: "forbidden" } });
  });

  test("of another dashboard makes other sessions", async () => {
    const other = createDashboard({ storage, token: `${token}-other` });
    const response = await other(
      new Request(`${origin}/api/runs`, {
        headers: { host: "localhost:4777", [sessionHeader]: await sessionOf() },
      }),
    );
    expect(response.status).toBe(403);
  });
});

describe("the options", () => {
  test("without a way to decide who may look there is no dashboard", () => {
    expect(() => createDashboard({ storage })).toThrow(/authorize.*token/);
    expect(() => createDashboard({ storage, token: "short" })).toThrow(/32 characters/);
    expect(() => createDashboard({ token })).toThrow(/app.*storage/);
    expect(() => createDashboard({ storage, token, read: true } as never)).toThrow(/no option "read"/);
    expect(() => createDashboard({ storage, token, basePath: '/"><script>' })).toThrow(/basePath/);
  });

  test("`authorize` decides about each action, and only `true` allows", async () => {
    const asked: string[] = [];
    const verdicts: unknown[] = [true, false, 1, "yes", undefined, new Response("no", { status: 401 })];
    const dashboard = createDashboard({
      app,
      hosts: ["ops.example.com"],
      authorize: (_request, { type, runId = "" }) => {
        asked.push(`${type} ${runId}`);
        return verdicts.shift() as boolean;
      },
    });
    const statuses: number[] = [];
    for (let i = 0; i < 6; i++) {
      const response = await dashboard(new Request("https://ops.example.com/api/runs/r1"));
      statuses.push(response.status);
    }
    expect(statuses).toEqual([200, 403, 403, 403, 403, 401]);
    verdicts.push(false);
    const cancelled = await dashboard(
      new Request("https://ops.example.com/api/runs/r1/cancel", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: "{}",
      }),
    );
    expect(cancelled.status).toBe(403);
    expect(asked.at(-1)).toBe("cancel r1");
  });

  test("read-only refuses every action, and still shows", async () => {
    const quiet = new Site({ app, readOnly: true });
    for (const action of changes.filter((name) => !name.endsWith("/plan"))) {
      const { status, body } = await quiet.post<{ error: { code: string } }>(action);
      expect([status, body.error.code], action).toEqual([403, "read-only"]);
    }
    expect(await quiet.get("runs/r1")).toMatchObject({ runId: "r1" });
  });

  test("under a base path, links stay below it", async () => {
    const below = new Site({ app, basePath: "/ops/durable" });
    const page = await (await below.fetch("/ops/durable/runs/r1")).text();
    expect(page).toContain('src="/ops/durable/app.js"');
    expect((await below.fetch("/ops/durableX")).status).toBe(404);
    expect((await below.fetch("/ops/durable/api/runs")).status).toBe(200);
  });
});

test("every response forbids foreign scripts, frames, caches and guesses of its type", async () => {
  const paths = ["/", "/app.js", "/app.css", "/api/runs", "/api/nothing", "/runs/r1", "/api/runs/r1/export"];
  for (const path of paths) {
    const { headers } = await site.fetch(path);
    expect(headers.get("content-security-policy"), path).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    );
    expect(headers.get("x-content-type-options"), path).toBe("nosniff");
    expect(headers.get("referrer-policy"), path).toBe("no-referrer");
    expect(headers.get("cache-control"), path).toBe("no-store");
    expect(headers.get("access-control-allow-origin"), path).toBeNull();
  }
});

test("bodies that are not JSON objects, are too large, or have another type are refused", async () => {
  const post = (body: string, type = "application/json"): Promise<Response> =>
    site.fetch("/api/runs/r1/cancel", { method: "POST", headers: { "content-type": type }, body });
  for (const body of ["", "[]", "1", "null", "{", '{"reason":1}'])
    expect((await post(body)).status, body).toBe(400);
  expect((await post("{}", "text/plain")).status).toBe(400);
  expect((await post("reason=x", "application/x-www-form-urlencoded")).status).toBe(400);
  expect((await post(JSON.stringify({ reason: "x".repeat(5_000_000) }))).status).toBe(400);
});

test("ids of runs are checked before they reach the storage", async () => {
  for (const id of ["..%2f..", "%00", "a".repeat(200), "x'--", "-x"]) {
    const response = await site.fetch(`/api/runs/${id}`);
    expect([400, 404], id).toContain(response.status);
  }
});

test("an error of the server says nothing about the server", async () => {
  const broken = new MemoryStorage();
  broken.list = () => Promise.reject(new Error("password=hunter2 at /srv/app"));
  const seen: unknown[] = [];
  const response = await new Site({ storage: broken, onError: (error) => seen.push(error) }).fetch(
    "/api/runs",
  );
  expect(response.status).toBe(500);
  expect(await response.text()).not.toMatch(/hunter2|srv/);
  expect(seen).toHaveLength(1);
});
