/** What is not well-formed is refused by name, whatever it is, and harms nothing. */

import { seeded } from "@durable/testing";
import { serve } from "@durable/http/node";
import { afterEach, describe, expect, inject, test } from "vitest";
import { closeDesks, type Desk, email, openDesk, type Posted } from "./support/desk.ts";
import { shot } from "./support/fuzz.ts";

afterEach(closeDesks);

// In `npm test`, a part of what is made up by chance.
const full = inject("full");

const runs = async (desk: Desk): Promise<number> => (await desk.app.list()).runs.length;

describe("malformed", () => {
  const wrong: readonly (readonly [string, unknown])[] = [
    ["the body", null],
    ["the body", []],
    ["the body", "x"],
    ["type", {}],
    ["type", { type: 1 }],
    ["type", { type: "" }],
    ["email", { type: "email.received" }],
    ["email", { type: "email.received", email: "ada@example.com" }],
    ...["from", "to", "subject", "body", "messageId"].flatMap((field) =>
      [undefined, null, 1, {}].map((value): [string, unknown] => [
        `email.${field}`,
        { type: "email.received", email: email("x", { [field]: value }) },
      ]),
    ),
    ...["ada", "", "a@b, c@d", "a@b\r\nBcc: c@d", "<a@b> <c@d>", `${"a".repeat(400)}@b`].map(
      (from): [string, unknown] => ["email.from", { type: "email.received", email: email("x", { from }) }],
    ),
    ["email.to", { type: "email.received", email: email("x", { to: "nobody" }) }],
    ["email.to", { type: "email.received", email: email("x", { to: [] }) }],
    ["email.messageId", { type: "email.received", email: email("x", { messageId: " <> " }) }],
    ["email.messageId", { type: "email.received", email: email("x", { messageId: "x".repeat(999) }) }],
    ["email.inReplyTo", { type: "email.received", email: email("x", { inReplyTo: 1 }) }],
  ];

  test("an event with a field that is missing or wrong is 400 and says which", async () => {
    const desk = openDesk();
    for (const [field, event] of wrong) {
      const { code, error } = await desk.post(event);
      expect({ code, error: error?.code }, JSON.stringify(event)).toEqual({
        code: 400,
        error: "invalid-body",
      });
      expect(error?.message, JSON.stringify(event)).toContain(`${field}: `);
    }
    expect(await runs(desk)).toBe(0);
  });

  test("H64 bodies, types and methods have codes of their own", async () => {
    const desk = openDesk();
    const json = { "content-type": "application/json" };
    const good = JSON.stringify({ type: "email.received", email: email("x") });
    const seen = async (body: string, headers: Record<string, string>): Promise<unknown> => {
      const { code, error } = await desk.send(body, headers);
      return [code, error?.code];
    };
    expect(await seen("{", json)).toEqual([400, "invalid-json"]);
    expect(await seen("", json)).toEqual([400, "invalid-json"]);
    expect(await seen(good, {})).toEqual([415, "unsupported-type"]);
    expect(await seen(good, { "content-type": "text/plain" })).toEqual([415, "unsupported-type"]);
    expect(await seen(good, { ...json, "content-encoding": "gzip" })).toEqual([415, "unsupported-encoding"]);
    expect(await seen(`{"type":"${"x".repeat(1_100_000)}"}`, json)).toEqual([413, "body-too-large"]);
    expect(await seen("[".repeat(200_000), json)).toEqual([400, "body-too-deep"]);
    for (const [method, path, code] of [
      ["GET", "/webhook", 405],
      ["PUT", "/webhook", 405],
      ["POST", "/", 404],
    ] as const) {
      const response = await desk.handler(new Request(`http://localhost${path}`, { method }));
      expect(response.status).toBe(code);
    }
    for (const type of ["application/json", "application/json; charset=utf-8", "Application/JSON;x=y"])
      expect(await desk.send(JSON.stringify({ type: "x" }), { "content-type": type })).toMatchObject({
        code: 202,
      });
  });

  test("H64 2,000 requests made up by chance (seed 11): no 5xx, nothing resumed, and a good one right after is answered", async () => {
    const desk = openDesk();
    const { runId, token } = await desk.ask("Please put 1.1.0 on staging.");
    const random = seeded(11);
    const counts = new Map<number, number>();
    for (let count = 0; count < (full ? 2_000 : 500); count++) {
      const { method, path, headers, body } = shot(random, [token]);
      const request = new Request(`http://localhost${path}`, {
        method,
        headers,
        ...(body === null ? {} : { body }),
      });
      const response = await desk.handler(request);
      counts.set(response.status, (counts.get(response.status) ?? 0) + 1);
      const reply = (await response.json()) as Posted;
      if (response.status === 202) expect(reply.status).toMatch(/^(?:started|duplicate|ignored)$/);
      else expect(reply.error?.code).toMatch(/^[a-z-]+$/);
    }
    expect(new Set(counts.keys())).toEqual(new Set([202, 400, 404, 405, 413, 415]));
    expect((await desk.app.get(runId).outcome()).status).toBe("suspended");
    expect((await desk.mail("reject", { to: `deploy+${token}@localhost` })).status).toBe("resumed");
    expect(desk.site.live("staging")).toBeNull();
  });
});

test("H64 over a real socket: 150 of the same, and a good one after them", async () => {
  const desk = openDesk();
  const server = await serve(desk.handler, { onError: (error) => desk.errors.push(error) });
  try {
    const random = seeded(12);
    for (let count = 0; count < (full ? 150 : 50); count++) {
      const { method, path, headers, body } = shot(random, []);
      const response = await fetch(server.url + path, {
        method,
        headers,
        ...(body === null ? {} : { body }),
      });
      expect(response.status, `${count}: ${method} ${path}`).toBeLessThan(500);
      await response.arrayBuffer();
    }
    const body = JSON.stringify({ type: "email.received", email: email("Please put 1.1.0 on staging.") });
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${server.url}/webhook`, { method: "POST", headers, body });
    expect([response.status, ((await response.json()) as Posted).status]).toEqual([202, "started"]);
  } finally {
    await server.close();
  }
});
