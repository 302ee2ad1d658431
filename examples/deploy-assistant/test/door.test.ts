/** What `POST /webhook` answers, to whom. */

import { createHmac, randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemoryStorage } from "@durable/core";
import { seeded } from "@durable/testing";
import { afterEach, describe, expect, test } from "vitest";
import { outboxMailer } from "example-mail";
import { closeDesks, type Desk, email, openDesk, own, type Posted } from "./support/desk.ts";
import { forged } from "./support/fuzz.ts";

afterEach(closeDesks);

const runs = async (desk: Desk): Promise<number> => (await desk.app.list()).runs.length;

const newSecret = (): string => `whsec_${randomBytes(32).toString("base64")}`;

const signed = (
  text: string,
  { secret = "", id = "msg_1", at = Date.now() / 1_000 } = {},
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
      const quoted = `approve\n> [reply-token: ${tag || "-"}`;
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

  test("with WEBHOOK_SECRET, only signed ones, by either of two secrets, over the bytes as they were sent", async () => {
    const [secret, other] = [newSecret(), newSecret()];
    const desk = openDesk({ secrets: [secret, other] });
    const text = `{ "type": "email.received",  "email": ${JSON.stringify(email("Please put 1.1.0 on staging."))} }`;
    const refused = { code: 401, error: { code: "bad-signature" } };
    expect(await desk.send(text, { "content-type": "application/json" })).toMatchObject(refused);
    expect(await desk.send(`${text} `, signed(text, { secret }))).toMatchObject(refused);
    expect(await desk.send(text, signed(text, { secret, at: Date.now() / 1_000 - 301 }))).toMatchObject(
      refused,
    );
    expect(await desk.send(text, signed(text, { secret: newSecret() }))).toMatchObject(refused);
    expect(await runs(desk)).toBe(0);
    expect((await desk.send(text, signed(text, { secret: other }))).status).toBe("started");
    expect((await desk.send(text, signed(text, { secret }))).status).toBe("duplicate");
    expect(await desk.send("{", signed("{", { secret }))).toMatchObject({
      code: 400,
      error: { code: "invalid-json" },
    });
    expect(await runs(desk)).toBe(1);
  });
});

test("H63 a signed message that comes again, in its time, under another time, to two servers at once: one run, one answer", async () => {
  const secret = newSecret();
  const storage = new MemoryStorage();
  const desks = [0, 1].map(() => openDesk({ secrets: [secret], storage }));
  const deliver = (text: string): Promise<Posted[]> =>
    Promise.all(
      [-240, -240, 0, 240].flatMap((away) =>
        desks.map((desk) => desk.send(text, signed(text, { secret, at: Date.now() / 1_000 + away }))),
      ),
    );
  const statuses = async (text: string): Promise<string[]> =>
    (await deliver(text)).map(({ status = "" }) => status).toSorted();
  const again = Array.from({ length: 7 }, () => "duplicate");
  const request = JSON.stringify({ type: "email.received", email: email("Please put 1.1.0 on preview-x.") });
  expect(await statuses(request)).toEqual([...again, "started"]);
  const { runId } = (await desks[0]!.app.list()).runs[0]!;
  await desks[0]!.stops(runId);
  const to = desks.find(({ mails }) => mails.length > 0)!.question().address;
  const reply = JSON.stringify({ type: "email.received", email: email("reject", { to }) });
  expect(await statuses(reply)).toEqual([...again, "resumed"]);
  await desks[0]!.stops(runId);
  expect(desks.flatMap((desk) => desk.kinds())).toEqual(["1-plan", "rejected"]);
  expect(await runs(desks[0]!)).toBe(1);
});

test("H65 hostile message ids: each is a run of its own, none is a path", async () => {
  const folder = mkdtempSync(join(tmpdir(), "deploy-ids-"));
  const outbox = join(folder, "outbox");
  const desk = openDesk({ parts: { mailer: outboxMailer(outbox, own) } });
  const hostile = [
    "../../../etc/passwd",
    "..\\..\\x",
    "/etc/passwd",
    "CON",
    "con",
    "x.",
    "x",
    "a\u0000b",
    "a'; DROP TABLE runs; --",
    '"$.x"',
    "caf\u00e9",
    "cafe\u0301",
    "__proto__",
    "x".repeat(990),
  ];
  const posted = [];
  for (const messageId of hostile)
    posted.push(await desk.mail("Please put 1.1.0 on staging.", { messageId }));
  expect(posted.map(({ status }) => status)).toEqual(hostile.map(() => "started"));
  expect(new Set(posted.map(({ runId }) => runId)).size).toBe(hostile.length);
  for (const { runId = "" } of posted) {
    expect(runId).toMatch(/^deploy-[0-9a-f]{40}$/);
    await desk.stops(runId);
  }
  expect(readdirSync(folder)).toEqual(["outbox"]);
  const files = readdirSync(outbox);
  expect(files).toHaveLength(hostile.length);
  for (const file of files) expect(file).toMatch(/^[\d-]+\.\d{3}-[a-z2-7]{8}-1-plan\.eml$/);
  rmSync(folder, { recursive: true });
});
