/** What `POST /webhook` answers, to whom. */

import "example-llm/sources";
import { createHmac, randomBytes } from "node:crypto";
import { seeded } from "@durable/testing";
import { serve } from "@durable/http/node";
import { afterEach, describe, expect, test } from "vitest";
import { closeDesks, type Desk, email, openDesk, type Posted } from "./support/desk.ts";
import { forged, shot } from "./support/fuzz.ts";

afterEach(closeDesks);

const runs = async (desk: Desk): Promise<number> => (await desk.app.list()).runs.length;

describe("answers", () => {
  test("no token: started; the same messageId again: duplicate, one run, whatever else has changed", async () => {
    const desk = openDesk();
    const one = { messageId: "<one@example.com>" };
    const started = await desk.mail("Please put 1.1.0 on staging.", one);
    expect(started).toEqual({ code: 202, status: "started", runId: started.runId });
    const duplicate = { code: 202, status: "duplicate", runId: started.runId };
    expect(await desk.mail("Please put 1.1.0 on staging.", one)).toEqual(duplicate);
    expect(await desk.mail("Other words", { messageId: " one@example.com " })).toEqual(duplicate);
    const many = await Promise.all(
      Array.from({ length: 20 }, () => desk.mail("x", { messageId: "<two@x>" })),
    );
    expect(many.filter(({ status }) => status === "started")).toHaveLength(1);
    expect(many.filter(({ status }) => status === "duplicate")).toHaveLength(19);
    expect(await runs(desk)).toBe(2);
  });

  test("H62 forged, cut off, of another key, of another storage: ignored, and nothing starts", async () => {
    const desk = openDesk();
    const { token } = await desk.ask("Please put 1.1.0 on staging.");
    const random = seeded(7);
    const bad = Array.from({ length: 300 }, () => forged(random, [token]));
    for (const tag of [...bad, token.slice(1), `${token}a`, "", "x", "a".repeat(55)]) {
      expect(await desk.mail("approve", { to: `deploy+${tag}@localhost` }), tag).toEqual({
        code: 202,
        status: "ignored",
      });
      const quoted = `approve\n> [deploy-assistant: ${tag || "-"}`;
      // With more behind it, it is still there: a footer whose bracket was lost runs on.
      if (tag !== "" && !tag.startsWith(token))
        expect(await desk.mail(quoted), tag).toEqual({ code: 202, status: "ignored" });
    }
    const elsewhere = openDesk();
    expect(await elsewhere.mail("approve", { to: `deploy+${token}@localhost` })).toEqual({
      code: 202,
      status: "ignored",
    });
    expect([await runs(desk), await runs(elsewhere)]).toEqual([1, 0]);
    expect(desk.kinds()).toEqual(["1-plan"]);
  });

  test("another type is ignored, with or without an email", async () => {
    const desk = openDesk();
    for (const type of ["email.bounced", "email.receive", "EMAIL.RECEIVED", "email.received ", "x"])
      for (const given of [email("x"), undefined, null, 1])
        expect(await desk.post({ type, email: given }), type).toEqual({ code: 202, status: "ignored" });
    expect(await runs(desk)).toBe(0);
  });

  test("a mail from the assistant itself is ignored", async () => {
    const desk = openDesk();
    expect((await desk.mail("x", { from: "Deploy <DEPLOY@localhost>" })).status).toBe("ignored");
    expect(await runs(desk)).toBe(0);
  });
});

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
    expect(await seen("[".repeat(200_000), json)).toEqual([413, "body-too-deep"]);
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

  test("H64 4,000 requests made up by chance (seed 11): no 5xx, nothing resumed, and a good one right after is answered", async () => {
    const desk = openDesk();
    const { runId, token } = await desk.ask("Please put 1.1.0 on staging.");
    const random = seeded(11);
    const counts = new Map<number, number>();
    for (let count = 0; count < 4_000; count++) {
      const { method, path, headers, body } = shot(random, [token]);
      const request = new Request(`http://localhost${path}`, {
        method,
        headers,
        ...(body === null ? {} : { body }),
      });
      const response = await desk.handler(request);
      counts.set(response.status, (counts.get(response.status) ?? 0) + 1);
      const told = (await response.json()) as Posted;
      if (response.status === 202) expect(told.status).toMatch(/^(?:started|duplicate|ignored)$/);
      else expect(told.error?.code).toMatch(/^[a-z-]+$/);
    }
    expect(new Set(counts.keys())).toEqual(new Set([202, 400, 404, 405, 413, 415]));
    expect((await desk.app.get(runId).outcome()).status).toBe("suspended");
    expect((await desk.mail("reject", { to: `deploy+${token}@localhost` })).status).toBe("resumed");
    expect(desk.site.live("staging")).toBeNull();
  });
});

describe("who may", () => {
  test("unsigned requests are taken under names of this machine only", async () => {
    const desk = openDesk();
    const event = { type: "x" };
    for (const host of ["localhost", "localhost:8000", "127.0.0.1:8000", "[::1]:8000"])
      expect((await desk.post(event, { host })).code, host).toBe(202);
    for (const host of [
      "evil.example",
      "localhost.evil.example",
      "127.0.0.1.evil.example:8000",
      "10.0.0.1",
      "[::2]",
      "a b",
    ])
      expect(await desk.post(event, { host }), host).toMatchObject({
        code: 403,
        error: { code: "forbidden" },
      });
  });

  const secrets = [0, 1].map(() => `whsec_${randomBytes(32).toString("base64")}`);
  const signed = (
    text: string,
    { secret = secrets[0] ?? "", id = "msg_1", at = Date.now() / 1_000 } = {},
  ): Record<string, string> => {
    const time = String(Math.floor(at));
    const key = Buffer.from(secret.slice(6), "base64");
    const mac = createHmac("sha256", key).update(`${id}.${time}.${text}`).digest("base64");
    return {
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": time,
      "webhook-signature": `v1,${mac}`,
    };
  };

  test("with WEBHOOK_SECRET, only signed ones, by either of two secrets, over the bytes as they were sent", async () => {
    const desk = openDesk({ secrets });
    const text = `{ "type": "email.received",  "email": ${JSON.stringify(email("Please put 1.1.0 on staging."))} }`;
    const refused = { code: 401, error: { code: "bad-signature" } };
    expect(await desk.send(text, { "content-type": "application/json" })).toMatchObject(refused);
    expect(await desk.send(`${text} `, signed(text))).toMatchObject(refused);
    expect(await desk.send(text, signed(text, { at: Date.now() / 1_000 - 301 }))).toMatchObject(refused);
    expect(
      await desk.send(text, signed(text, { secret: `whsec_${randomBytes(32).toString("base64")}` })),
    ).toMatchObject(refused);
    expect(await runs(desk)).toBe(0);
    expect((await desk.send(text, signed(text, { secret: secrets[1] ?? "" }))).status).toBe("started");
    expect((await desk.send(text, signed(text))).status).toBe("duplicate");
    expect(await desk.send("{", signed("{"))).toMatchObject({ code: 400, error: { code: "invalid-json" } });
    expect(await runs(desk)).toBe(1);
  });
});

test("H64 over a real socket: 500 of the same, and a good one after them", async () => {
  const desk = openDesk();
  const server = await serve(desk.handler, { onError: (error) => desk.errors.push(error) });
  try {
    const random = seeded(12);
    for (let count = 0; count < 500; count++) {
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
