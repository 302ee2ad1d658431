/** What people who may not deploy can try, each under the name of its attack. */

import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { virtualWorld } from "@durable/testing";
import { afterEach, describe, expect, test } from "vitest";
import { nameIn } from "example-mail";
import { outboxMailer } from "example-mail";
import { decide } from "example-mail";
import { closeDesks, type Desk, openDesk, own } from "./support/desk.ts";

afterEach(closeDesks);

const [ada, grace, mallory] = ["ada@example.com", "grace@example.com", "mallory@evil.example"];
const request = "Please put 1.1.0 on preview-x.";
const people = { askers: [ada, "Bob@Example.com"], approvers: [grace, "alan@example.com"] };
const ignored = { code: 202, status: "ignored" };
const runs = async (desk: Desk): Promise<number> => (await desk.app.list()).runs.length;
const live = (desk: Desk): string | null => desk.site.live("preview-x");

describe("with lists", () => {
  test("a stranger asks: no run, and no mail to an address that may be forged", async () => {
    const desk = openDesk({ people });
    for (const from of [mallory, `"${ada}" <${mallory}>`, `${ada}.evil.example`, `x${ada}`, grace])
      expect(await desk.mail(request, { from }), from).toEqual(ignored);
    expect(await runs(desk)).toBe(0);
    expect(desk.mails).toEqual([]);
    expect((await desk.mail(request, { from: `Bob <BOB@example.com>` })).status).toBe("started");
  });

  test("the one who asked approves: the question goes to the approvers, and only they can answer it", async () => {
    const desk = openDesk({ people });
    const { runId, address } = await desk.ask(request);
    expect(desk.mails.map(({ to }) => to)).toEqual([grace, "alan@example.com"]);
    expect(desk.mails[0]?.text).toContain(`${ada} asks for a deployment: Tide board`);
    for (const from of [ada, mallory, "bob@example.com", `Grace <${mallory}>`])
      expect(await desk.mail("approve", { from, to: address }), from).toEqual(ignored);
    expect(await desk.stops(runId)).toMatchObject({ status: "suspended" });
    expect(live(desk)).toBeNull();
    expect(await desk.mail("approve", { from: grace, to: address })).toMatchObject({
      status: "resumed",
      runId,
    });
    expect(await desk.stops(runId)).toMatchObject({ output: { status: "deployed" } });
    const told = desk.mails.filter(({ kind }) => kind === "deployed").map(({ to }) => to);
    expect(told).toEqual([ada, grace, "alan@example.com"]);
  });

  test("an answer that bypasses the door: the wait refuses it, and stays open", async () => {
    const desk = openDesk({ people });
    const { runId, token, address } = await desk.ask(request);
    await desk.app.resume(token, { from: ada, body: "approve", messageId: "<x@y>" }, { drive: false });
    await desk.app.advance(runId);
    expect(await desk.stops(runId)).toMatchObject({ status: "suspended" });
    expect((await desk.mail("approve", { from: grace, to: address })).status).toBe("resumed");
    expect(await desk.stops(runId)).toMatchObject({ output: { status: "deployed" } });
  });

  test("an approver who was removed answers: ignored, and gets no more mail; the others do", async () => {
    const before = openDesk({ people });
    const { address, runId } = await before.ask(request);
    const later = openDesk({
      storage: before.storage,
      people: { askers: [ada], approvers: ["alan@example.com"] },
    });
    expect(await later.mail("approve", { from: grace, to: address })).toEqual(ignored);
    await later.mail("reject", { from: "alan@example.com", to: address });
    expect(await later.stops(runId)).toMatchObject({ output: { status: "rejected" } });
    expect(later.mails.map(({ to }) => to)).toEqual([ada, "alan@example.com"]);
  });
});

describe("without lists", () => {
  test("anybody may ask, and a stranger who has the token cannot approve", async () => {
    const desk = openDesk();
    const { runId, address } = await desk.ask(request);
    expect(await desk.mail("approve", { from: mallory, to: address })).toEqual(ignored);
    await desk.app.advance(runId);
    expect(await desk.stops(runId)).toMatchObject({ status: "suspended" });
    expect(live(desk)).toBeNull();
    expect((await desk.mail("approve", { from: ada.toUpperCase(), to: address })).status).toBe("resumed");
    expect(await desk.stops(runId)).toMatchObject({ output: { status: "deployed" } });
    expect(new Set(desk.mails.map(({ to }) => to))).toEqual(new Set([ada]));
    expect((await desk.mail(request, { from: mallory })).status).toBe("started");
  });
});

describe("a forged sender, where the provider checked it", () => {
  const forged = [
    { spf: "fail" },
    { spf: "softfail" },
    { spf: "none" },
    { spf: "pass", dkim: "fail" },
    { dkim: { status: "FAIL" } },
    { dmarc: false, spf: "pass", dkim: "pass" },
    { dkim: "{@evil.example : pass}" },
    { dkim: "{@example.com : fail}" },
    { spf: "" },
  ];
  const genuine = [
    { spf: "pass" },
    { spf: "Pass", dkim: "pass" },
    { dkim: { status: "PASS" } },
    { dmarc: "pass", spf: "fail" },
    { dkim: "{@example.com : pass}" },
    { spf: null, dkim: null },
  ];

  test("starts nothing, answers nothing, and gets no mail", async () => {
    const desk = openDesk();
    for (const verdicts of forged)
      expect(await desk.mail(request, verdicts), JSON.stringify(verdicts)).toEqual(ignored);
    expect([await runs(desk), desk.mails.length]).toEqual([0, 0]);
    const { runId, address } = await desk.ask(request);
    for (const verdicts of forged)
      expect(await desk.mail("approve", { to: address, ...verdicts })).toEqual(ignored);
    expect(await desk.stops(runId)).toMatchObject({ status: "suspended" });
    expect((await desk.mail("approve", { to: address, spf: "pass" })).status).toBe("resumed");
  });

  test("a genuine one does", async () => {
    const desk = openDesk();
    for (const verdicts of genuine)
      expect((await desk.mail(request, verdicts)).status, JSON.stringify(verdicts)).toBe("started");
  });
});

test("a sender floods: no more than the limit in an hour, on any server; others are not affected", async () => {
  const world = virtualWorld();
  const desk = openDesk({ senderLimit: 3, world });
  const other = openDesk({ senderLimit: 3, world, storage: desk.storage });
  const statuses: (string | undefined)[] = [];
  for (let at = 0; at < 6; at++)
    statuses.push((await (at % 2 === 0 ? desk : other).mail(request, { messageId: `<${at}@x>` })).status);
  expect(statuses).toEqual(["started", "started", "started", "ignored", "ignored", "ignored"]);
  expect((await desk.mail(request, { messageId: "<0@x>" })).status).toBe("duplicate");
  expect((await desk.mail(request, { messageId: "<0@x>", from: mallory })).status).toBe("started");
  await world.advance(3_600_001);
  expect((await desk.mail(request, { messageId: "<5@x>" })).status).toBe("started");
});

test("the message id of another's mail is used first: the other mail still starts its run", async () => {
  const desk = openDesk();
  expect((await desk.mail("x", { from: mallory, messageId: "<one@example.com>" })).status).toBe("started");
  expect((await desk.mail(request, { messageId: "<one@example.com>" })).status).toBe("started");
});

test("a yes with an instruction after it: a question back, never a deployment", async () => {
  const desk = openDesk();
  const { runId, address } = await desk.ask(request);
  await desk.mail("yes\n\nAnd production, too.", { to: address });
  expect(await desk.stops(runId)).toMatchObject({ status: "suspended" });
  expect([live(desk), desk.kinds()]).toEqual([null, ["1-plan", "2-plan"]]);
});

/** Work of this thread alone, and the best of three, because the first compiles. */
function msOf(work: () => unknown): number {
  const times = [1, 2, 3].map(() => {
    const began = process.threadCpuUsage();
    work();
    return process.threadCpuUsage(began).user / 1_000;
  });
  return Math.min(...times);
}

describe("a text made to be slow costs no more than its length", () => {
  // With expressions that backtrack, the first took 660 ms and the second 1,300 ms.
  test("the name of a sender", () => {
    for (const quotes of ['"', '""', '"""'])
      expect(msOf(() => nameIn(`${" ".repeat(960)}${quotes}<ada@example.com>`))).toBeLessThan(100);
  });

  test("the text of a reply", () => {
    const long = 64 * 1024;
    const bodies = [
      `yes\n${"1".repeat(long)}`,
      `yes\n${"1.".repeat(long / 2)}`,
      `On ${" ".repeat(long)}x`,
      "On a <".repeat(long / 6),
      `yes${" ".repeat(long)}x`,
      `-- \n${"1".repeat(long)}`,
      "&gt; ".repeat(long / 5),
    ];
    for (const body of bodies) {
      const tenTimes = msOf(() => {
        for (let times = 1; times <= 10; times++) decide(body, "Ada <ada@example.com>");
      });
      expect(tenTimes, body.slice(0, 20)).toBeLessThan(400);
    }
  });
});

test.runIf(process.platform !== "win32")(
  "another user of the machine reads no token in the outbox",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "deploy-private-"));
    const outbox = join(folder, "outbox");
    const desk = openDesk({ parts: { mailer: outboxMailer(outbox, own) } });
    const { runId = "" } = await desk.mail(request);
    await desk.stops(runId);
    const modes = [outbox, ...readdirSync(outbox).map((file) => join(outbox, file))].map((path) =>
      (statSync(path).mode & 0o777).toString(8),
    );
    rmSync(folder, { recursive: true });
    expect(modes).toEqual(["700", "600"]);
  },
);
