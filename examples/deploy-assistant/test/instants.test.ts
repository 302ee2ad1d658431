/** Replies at every instant of a conversation: consumed once, or answered with their status; the run never stalls. */

import { MemoryStorage } from "@durable/core";
import { seeded, virtualWorld } from "@durable/testing";
import { afterEach, describe, expect, test } from "vitest";
import { closeDesks, type Desk, openDesk, type Posted } from "./support/desk.ts";
import { manglings } from "example-mail/gateway";

afterEach(closeDesks);

const request = "Please put 1.1.0 on preview-x.";
const deployed = { status: "completed", output: { status: "deployed" } };

describe("H27 a reply at every instant", () => {
  test("before the outbound mail is recorded: kept, and used when the wait is reached", async () => {
    const answers: Posted[] = [];
    const desk: Desk = openDesk({
      // The mail is out, and its step is not over: the reply is faster than the record.
      onMail: async ({ kind, token }) => {
        if (kind === "1-plan") answers.push(await desk.mail("approve", { to: `deploy+${token}@localhost` }));
      },
    });
    const { runId = "" } = await desk.mail(request);
    expect(await desk.stops(runId)).toMatchObject(deployed);
    expect(answers).toEqual([{ code: 202, status: "resumed", runId }]);
    expect(desk.kinds()).toEqual(["1-plan", "started", "deployed"]);
  });

  test("H32 before it is recorded, and the process is gone: the next one sends the same mail and takes the reply", async () => {
    // The next process lives ten minutes later; the time of the dead one stands still.
    const [past, world] = [virtualWorld(), virtualWorld({ start: Date.UTC(2026, 0, 1, 0, 10) })];
    let now = past;
    const storage = new MemoryStorage({ now: () => now.now() });
    const sent = Promise.withResolvers<string>();
    // A process that dies while its mail is on the way: the step never ends, and no more is heard of it.
    const dead = openDesk({
      storage,
      world: past,
      onMail: ({ token }) => (sent.resolve(token), new Promise(() => {})),
    });
    const { runId = "" } = await dead.mail(request);
    const token = await sent.promise;
    now = world;
    const alive = openDesk({ storage, world });
    expect(await alive.mail("approve", { to: `deploy+${token}@localhost` })).toMatchObject({
      status: "resumed",
      runId,
    });
    await alive.app.sweep();
    expect(await alive.stops(runId)).toMatchObject(deployed);
    // H32: sent again, because the outcome is unknown; with the same token, as the same message.
    const [first, again] = [dead.mails[0], alive.mails[0]];
    expect(again).toEqual(first);
    expect(alive.kinds()).toEqual(["1-plan", "started", "deployed"]);
  });

  test("while the deployment runs, and after the end of the run: a duplicate, and nothing happens twice", async () => {
    const answers: Posted[] = [];
    const desk: Desk = openDesk({
      onMail: async ({ kind, token }) => {
        if (kind === "started") answers.push(await desk.mail("reject", { to: `deploy+${token}@localhost` }));
      },
    });
    const { runId, address } = await desk.ask(request);
    await desk.mail("approve", { to: address });
    expect(await desk.stops(runId)).toMatchObject(deployed);
    answers.push(await desk.mail("approve", { to: address }), await desk.mail("Thanks!", { to: address }));
    expect(answers).toEqual([1, 2, 3].map(() => ({ code: 202, status: "duplicate", runId })));
    expect(desk.kinds()).toEqual(["1-plan", "started", "deployed"]);
    expect((await desk.app.list()).runs).toHaveLength(1);
  });

  test("late: ignored, and the run has ended without it", async () => {
    const world = virtualWorld();
    const desk = openDesk({ world, parts: { timeout: "3 days" } });
    const { runId, address } = await desk.ask(request);
    await world.advance(3 * 86_400_000 + 1);
    // Its time is over, whether or not the run was checked since.
    expect(await desk.mail("approve", { to: address })).toEqual({ code: 202, status: "ignored" });
    await desk.app.sweep();
    expect(await desk.stops(runId)).toMatchObject({ output: { status: "expired" } });
    expect(desk.kinds()).toEqual(["1-plan", "expired"]);
    expect(await desk.mail("approve", { to: address })).toEqual({ code: 202, status: "ignored" });
    expect(desk.site.live("preview-x")).toBeNull();
  });

  test("to a run that was cancelled: ignored", async () => {
    const desk = openDesk();
    const { runId, address } = await desk.ask(request);
    await desk.app.cancel(runId);
    expect(await desk.mail("approve", { to: address })).toEqual({ code: 202, status: "ignored" });
  });
});

test("H28 a reply whose run was not driven on is found by a sweep", async () => {
  const desk = openDesk();
  const { runId, token } = await desk.ask(request);
  await desk.app.resume(
    token,
    { from: "ada@example.com", body: "approve", messageId: "<x@y>" },
    { drive: false },
  );
  expect((await desk.app.get(runId).outcome()).status).toBe("running");
  await desk.app.sweep();
  expect(await desk.stops(runId)).toMatchObject(deployed);
});

test("H29 H30 the same reply 20 times, and 20 others with it: one is taken", async () => {
  const desk = openDesk();
  const { runId, address } = await desk.ask(request);
  const posts = Array.from({ length: 40 }, (_, at) =>
    desk.mail("approve", { to: address, ...(at < 20 ? { messageId: "<same@example.com>" } : {}) }),
  );
  const statuses = (await Promise.all(posts)).map(({ status }) => status);
  // Replies that are not checked yet are kept, each once; the first that fits is taken.
  expect(statuses.filter((status) => status === "duplicate").length).toBeGreaterThanOrEqual(19);
  expect(new Set(statuses)).toEqual(new Set(["resumed", "duplicate"]));
  expect(await desk.stops(runId)).toMatchObject(deployed);
  expect(desk.kinds()).toEqual(["1-plan", "started", "deployed"]);
});

test("H31 after three rounds a reply goes to the wait that is live, whatever it quotes; those before it are over", async () => {
  const desk = openDesk();
  const { runId } = await desk.ask("Please put 2.0.0 on preview-x.");
  const tokens: string[] = [];
  for (const change of ["Take 1.0.0", "Take 1.1.0", "On preview-y, please"]) {
    const { address, token } = desk.question();
    tokens.push(token);
    expect((await desk.mail(change, { to: address })).status).toBe("resumed");
    expect((await desk.stops(runId)).status).toBe("suspended");
  }
  const { token: live } = desk.question();
  expect(new Set([...tokens, live]).size).toBe(4);
  // A late yes to an earlier proposal does not approve the current one.
  for (const token of tokens)
    expect(await desk.mail("approve", { to: `deploy+${token}@localhost` })).toMatchObject({
      status: "duplicate",
      runId,
    });
  expect((await desk.stops(runId)).status).toBe("suspended");
  const footers = [...tokens, live].map((token) => `> [reply-token: ${token}]`).join("\n");
  expect(await desk.mail(`approve\n\n${footers}`)).toMatchObject({ status: "resumed", runId });
  const output = { status: "deployed", version: "1.1.0", environment: "preview-y" };
  expect(await desk.stops(runId)).toMatchObject({ output });
  expect((await desk.mail(`approve\n\n${footers}`)).status).toBe("duplicate");
});

test("H33 two conversations: each reply goes to its own, also when the mails are mixed up", async () => {
  const desk = openDesk();
  const one = await desk.ask("Please put 1.0.0 on preview-one.");
  const two = await desk.ask("Please put 1.1.0 on preview-two.");
  // The address decides, whatever the text quotes.
  const body = `reject\n\n> [reply-token: ${one.token}]`;
  expect(await desk.mail(body, { to: two.address })).toMatchObject({ status: "resumed", runId: two.runId });
  expect(await desk.mail("approve", { to: one.address })).toMatchObject({
    status: "resumed",
    runId: one.runId,
  });
  expect(await desk.stops(one.runId)).toMatchObject(deployed);
  expect(await desk.stops(two.runId)).toMatchObject({ output: { status: "rejected" } });
});

describe("H33 a token that went through a mail gateway", () => {
  test.each(Object.keys(manglings))("%s", async (name) => {
    const desk = openDesk();
    const { runId, token } = await desk.ask(request);
    const quoted = manglings[name]!(`Hello,\n\n-- \n[reply-token: ${token}]\n`, seeded(5));
    const reply = `reject\n\nOn Sunday, Deploy assistant wrote:\n${quoted}`;
    expect(await desk.mail(reply)).toEqual({ code: 202, status: "resumed", runId });
    expect(await desk.stops(runId)).toMatchObject({ output: { status: "rejected" } });
  });

  test("a tag in capitals, a bad tag with a good thread, a thread of three", async () => {
    const desk = openDesk();
    const ask = async (given: (token: string) => Record<string, unknown>): Promise<Posted> => {
      const { token } = await desk.ask(request);
      return desk.mail("reject", given(token));
    };
    const id = (token: string): string => `<k2.${token}@localhost>`;
    const posts = [
      await ask((token) => ({ to: `DEPLOY+${token.toUpperCase()}@LOCALHOST` })),
      await ask((token) => ({ to: `deploy+${token.slice(0, 40)}@localhost`, inReplyTo: id(token) })),
      await ask((token) => ({ references: `<1@x> ${id(token)} <3@example.com>` })),
    ];
    expect(posts.map(({ status }) => status)).toEqual(["resumed", "resumed", "resumed"]);
  });
});

test("H34 a reply that says nothing useful is asked about again, and harms nothing", async () => {
  const desk = openDesk();
  const { runId, address } = await desk.ask(request);
  await desk.mail("", { to: address });
  await desk.stops(runId);
  await desk.mail("\u0000\uD800 \u202E 💥", { to: desk.question().address });
  expect((await desk.stops(runId)).status).toBe("suspended");
  await desk.mail("approve", { to: desk.question().address });
  expect(await desk.stops(runId)).toMatchObject(deployed);
});

test("H35 a reply while the model is thinking about the last one waits its turn", async () => {
  const desk = openDesk();
  const { runId, address } = await desk.ask("Please put 2.0.0 on preview-x.");
  // Without a wait in between: the second reply reaches a run that is busy with the first.
  const change = desk.mail("Take 1.1.0", { to: address });
  const again = desk.mail("Take 1.0.0", { to: address });
  const statuses = (await Promise.all([change, again])).map(({ status }) => status);
  expect(statuses).toContain("resumed");
  expect((await desk.stops(runId)).status).toBe("suspended");
  expect(desk.turns).toBe(2);
});
