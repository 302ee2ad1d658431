/** Outbound mail: files that any mail program opens, and a real SMTP server that takes them. */

import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { seeded } from "@durable/testing";
import PostalMime, { type Email as Parsed } from "postal-mime";
import { afterEach, describe, expect, inject, test } from "vitest";
import { outboxMailer, smtpMailer, type Message } from "example-mail";
import { closeDesks, openDesk, own } from "./support/desk.ts";
import { openMailServer, type MailServer } from "./support/mail-server.ts";

const folders: string[] = [];
const servers: MailServer[] = [];

afterEach(async () => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
  for (const server of servers.splice(0)) await server.close();
  closeDesks();
});

const outbox = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "deploy-outbox-"));
  folders.push(folder);
  return folder;
};

const serverFor = async (...args: Parameters<typeof openMailServer>): Promise<MailServer> => {
  const server = await openMailServer(...args);
  servers.push(server);
  return server;
};

const parsedAll = (server: MailServer): Promise<Parsed[]> =>
  Promise.all(server.taken.map(({ raw }) => PostalMime.parse(raw)));

const token = "a7q2".repeat(13) + "xyz";
const key = "k".repeat(32);
const message: Message = {
  kind: "1-plan",
  to: "ada@example.com",
  subject: "Re: Tide board",
  text: "Hello Ada,\n\nI would put tide-board 1.1.0 on staging.",
  token,
  thread: ["<1@example.com>", "<2@example.com>"],
  at: Date.UTC(2026, 10, 15, 9, 0, 1, 234),
};

describe("an outbox of files", () => {
  test("each is a message: who, to whom, the thread, and the token in three places", async () => {
    const folder = outbox();
    const sent = await outboxMailer(folder, own).send(message, key);
    expect(readdirSync(folder)).toEqual([sent.via]);
    expect(sent.via).toBe("20261115-090001.234-kkkkkkkk-1-plan.eml");
    const parsed = await PostalMime.parse(readFileSync(join(folder, sent.via)));
    expect(parsed).toMatchObject({
      from: { name: "Deploy assistant", address: "deploy@localhost" },
      to: [{ address: "ada@example.com" }],
      replyTo: [{ address: `deploy+${token}@localhost` }],
      subject: "Re: Tide board",
      messageId: `<${key}.${token}@localhost>`,
      inReplyTo: "<2@example.com>",
      references: "<1@example.com> <2@example.com>",
      date: "2026-11-15T09:00:01.000Z",
      text: `${message.text}\n\n-- \n[reply-token: ${token}]\n`,
    });
    expect(sent.messageId).toBe(parsed.messageId);
    // An address has 64 octets before the @.
    expect(`deploy+${token}`.length).toBeLessThanOrEqual(64);
  });

  test("H32 sent again after a crash: the same file with the same bytes", async () => {
    const folder = outbox();
    const first = await outboxMailer(folder, own).send(message, key);
    const bytes = readFileSync(join(folder, first.via));
    expect(await outboxMailer(folder, own).send(message, key)).toEqual(first);
    expect(readdirSync(folder)).toHaveLength(1);
    expect(readFileSync(join(folder, first.via))).toEqual(bytes);
  });

  const mails = inject("full") ? 500 : 100;
  test(`${mails} hostile subjects, texts and threads (seed 21): one recipient, no header of theirs, lines of legal length`, async () => {
    const folder = outbox();
    const random = seeded(21);
    const pieces = [
      "\r\n",
      "\n",
      "\r",
      "Bcc: eve@example.com",
      "\u0000",
      "é",
      "💥",
      "\u2028",
      "=?utf-8?q?x?=",
      " ",
      ":",
      "x".repeat(300),
      ".",
      "--",
      "<",
      ">",
      '"',
      "\\",
    ];
    const hostile = (): string =>
      Array.from({ length: random.between(0, 12) }, () => random.pick(pieces)).join("");
    for (let at = 0; at < mails; at++) {
      const { via } = await outboxMailer(folder, own).send(
        { ...message, subject: hostile(), text: hostile() },
        `${at}`.padStart(32, "q"),
      );
      const bytes = readFileSync(join(folder, via));
      const lines = bytes.toString("latin1").split("\r\n");
      expect(lines.every((line) => line.length <= 998 && !/[\r\n]/.test(line))).toBe(true);
      const parsed = await PostalMime.parse(bytes);
      expect([parsed.to, parsed.cc, parsed.bcc]).toEqual([
        [{ name: "", address: "ada@example.com" }],
        undefined,
        undefined,
      ]);
      expect(parsed.replyTo?.[0]).toMatchObject({ address: `deploy+${token}@localhost` });
      expect(parsed.text).toContain(`[reply-token: ${token}]`);
      expect(parsed.text?.replaceAll("\n", "") + (parsed.subject ?? "")).not.toMatch(/\p{Cc}/u);
      expect(parsed.subject?.length ?? 0).toBeLessThanOrEqual(200);
    }
  });
});

describe("an SMTP server", () => {
  test("takes the mails of a whole conversation, and a reply to what it took goes on", async () => {
    const server = await serverFor();
    const desk = openDesk({ parts: { mailer: smtpMailer(server.url, own) } });
    const { runId = "" } = await desk.mail("Please put 1.1.0 on staging.");
    await desk.stops(runId);
    expect(server.taken[0]).toMatchObject({ from: "deploy@localhost", to: ["ada@example.com"] });
    const [question] = await parsedAll(server);
    const to = question?.replyTo?.[0]?.address;
    expect((await desk.mail("approve", { to })).status).toBe("resumed");
    expect(await desk.stops(runId)).toMatchObject({ output: { status: "deployed" } });
    const mails = await parsedAll(server);
    expect(mails.map(({ text }) => text?.split(/[.:]/)[0])).toEqual([
      "Hello Ada,\n\nI would put tide-board 1",
      "Approved",
      "Done",
    ]);
    expect(new Set(mails.map(({ messageId }) => messageId)).size).toBe(3);
  });

  test("H32 that took a mail and broke off before it said so: sent again, with the same Message-ID and token", async () => {
    const server = await serverFor({ breakOff: 1 });
    const desk = openDesk({ parts: { mailer: smtpMailer(server.url, own) } });
    const { runId = "" } = await desk.mail("Please put 1.1.0 on staging.");
    expect((await desk.stops(runId)).status).toBe("suspended");
    const ids = (await parsedAll(server)).map(({ messageId }) => messageId);
    expect(ids).toHaveLength(2);
    expect(new Set(ids).size).toBe(1);
    expect(server.taken[0]?.raw).toBe(server.taken[1]?.raw);
  });

  test("that is busy is tried again; that refuses for good ends the run", async () => {
    const busy = await serverFor({ refuse: [451, 1] });
    const desk = openDesk({ parts: { mailer: smtpMailer(busy.url, own) } });
    const { runId = "" } = await desk.mail("Please put 1.1.0 on staging.");
    expect((await desk.stops(runId)).status).toBe("suspended");
    expect([busy.refused, busy.taken.length]).toEqual([1, 1]);

    const closed = await serverFor({ refuse: [550, 9] });
    const other = openDesk({ parts: { mailer: smtpMailer(closed.url, own) } });
    const { runId: failed = "" } = await other.mail("Please put 1.1.0 on staging.");
    expect(await other.stops(failed)).toMatchObject({ status: "failed", error: { code: "step-failed" } });
    expect([closed.refused, closed.taken.length]).toEqual([1, 0]);
  });

  test("with a name and a password", async () => {
    const server = await serverFor({ user: "ada", password: "p@ss/word" });
    await smtpMailer(server.url, own).send(message, key);
    expect(server.taken).toHaveLength(1);
    const wrong = new URL(server.url);
    wrong.password = "no";
    await expect(smtpMailer(wrong.href, own).send(message, key)).rejects.toThrow(/535/);
    // What is shown to people has no password in it.
    expect(smtpMailer(server.url, own).line).not.toContain("ss");
  });
});
