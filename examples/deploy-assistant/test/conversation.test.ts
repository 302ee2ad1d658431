import { afterEach, describe, expect, test } from "vitest";
import { closeDesks, openDesk } from "./support/desk.ts";

afterEach(closeDesks);

describe("a conversation", () => {
  test("approved: the release is live, and every mail is in one thread to one person", async () => {
    const desk = openDesk();
    const { runId, address, token } = await desk.ask("Please put 1.1.0 on staging.");
    expect(desk.site.live("staging")).toBeNull();
    expect(await desk.mail("approve", { to: address })).toEqual({ code: 202, status: "resumed", runId });
    const output = { status: "deployed", version: "1.1.0", environment: "staging" };
    expect(await desk.stops(runId)).toMatchObject({ status: "completed", output });
    expect(desk.site.live("staging")).toMatch(/^1\.1\.0-/);
    expect(desk.kinds()).toEqual(["1-plan", "started", "deployed"]);
    expect(new Set(desk.mails.map(({ to }) => to))).toEqual(new Set(["ada@example.com"]));
    expect(new Set(desk.mails.map((mail) => mail.token))).toEqual(new Set([token]));
    expect(desk.mails.map(({ thread }) => thread.length)).toEqual([1, 3, 4]);
    expect(desk.mails.at(-1)?.text).toContain("1.1.0 is on staging, and healthy (200 from /health");
  });

  test("rejected: nothing is deployed", async () => {
    const desk = openDesk();
    const { runId, address } = await desk.ask("Please put 1.1.0 on staging.");
    expect((await desk.mail("reject", { to: address })).status).toBe("resumed");
    expect(await desk.stops(runId)).toMatchObject({ status: "completed", output: { status: "rejected" } });
    expect(desk.kinds()).toEqual(["1-plan", "rejected"]);
    expect(desk.site.live("staging")).toBeNull();
  });

  test("changed: another turn of the model and another wait, and the last plan is the one", async () => {
    const desk = openDesk();
    const first = await desk.ask("Please put 2.0.0 on staging.");
    await desk.mail("2.0.0 is not signed off. Take 1.1.0, please.", { to: first.address });
    await desk.stops(first.runId);
    const second = desk.question();
    expect(second.token).not.toBe(first.token);
    expect(desk.turns).toBe(2);
    expect(desk.mails[1]?.text).toMatch(/Changed as you asked[^]*release +1\.1\.0/);

    // The first question is answered; its address is not that of the second.
    expect((await desk.mail("approve", { to: first.address })).status).toBe("duplicate");
    expect((await desk.stops(first.runId)).status).toBe("suspended");
    await desk.mail("approve", { to: second.address });
    expect(await desk.stops(first.runId)).toMatchObject({ output: { status: "deployed", version: "1.1.0" } });
    expect(desk.kinds()).toEqual(["1-plan", "2-plan", "started", "deployed"]);
    expect(desk.turns).toBe(2);
  });

  test("an unhealthy release is rolled back to what was live, or to nothing", async () => {
    const desk = openDesk();
    const deploy = async (version: string): Promise<unknown> => {
      const { runId, address } = await desk.ask(`Please put ${version} on staging.`);
      await desk.mail("approve", { to: address });
      return desk.stops(runId);
    };
    expect(await deploy("2.0.0")).toMatchObject({ output: { status: "rolled-back" } });
    expect(desk.site.live("staging")).toBeNull();
    expect(desk.mails.at(-1)?.text).toContain("Nothing is deployed there, as before.");
    expect(await deploy("1.0.0")).toMatchObject({ output: { status: "deployed" } });
    const live = desk.site.live("staging");
    expect(await deploy("2.0.0")).toMatchObject({ output: { status: "rolled-back" } });
    expect(desk.site.live("staging")).toBe(live);
    expect(desk.mails.at(-1)?.text).toMatch(/503 from \/health[^]*1\.0\.0 is back in its place/);
  });

  test("a check that throws is a check that failed: the release is rolled back, and people are told", async () => {
    const desk = openDesk();
    const { runId, address } = await desk.ask("Please put 1.0.0 on staging.");
    desk.site.check = () => Promise.reject(new Error("spawn EAGAIN"));
    await desk.mail("approve", { to: address });
    expect(await desk.stops(runId)).toMatchObject({ output: { status: "rolled-back" } });
    expect(desk.site.live("staging")).toBeNull();
    expect(desk.mails.at(-1)?.text).toContain("spawn EAGAIN");
  });

  test("an unclear request leads to a question; a yes to that is not an approval", async () => {
    const desk = openDesk();
    const { runId, address } = await desk.ask("Please deploy 3.1.4.");
    expect(desk.kinds()).toEqual(["1-question"]);
    await desk.mail("yes", { to: address });
    await desk.stops(runId);
    expect(desk.kinds()).toEqual(["1-question", "2-question"]);
    await desk.mail("the latest one, to production", { to: desk.question().address });
    await desk.stops(runId);
    expect(desk.mails.at(-1)?.text).toMatch(/release +2\.0\.0\n +to +production/);
  });

  test("a request that names no release is met with a plan, which says so", async () => {
    const desk = openDesk();
    const { runId, address } = await desk.ask("Please deploy something nice to production.");
    expect(desk.mails.at(-1)?.text).toMatch(/You named no release\.[^]*release +1\.1\.0\n +to +production/);
    await desk.mail("yes, go ahead", { to: address });
    expect(await desk.stops(runId)).toMatchObject({ output: { status: "deployed" } });
  });

  test("two robots that write to each other come to an end", async () => {
    const desk = openDesk();
    const { runId } = await desk.ask("Please put 1.1.0 on staging.");
    let outcome = await desk.stops(runId);
    for (let round = 1; outcome.status === "suspended"; round++) {
      expect(round).toBeLessThanOrEqual(10);
      await desk.mail("I am out of the office.", { to: desk.question().address });
      outcome = await desk.stops(runId);
    }
    expect(outcome).toMatchObject({ output: { status: "gave-up" } });
    expect(desk.turns).toBe(10);
  });
});

describe("two deployments to one place", () => {
  test("one waits for the other, and each is checked by itself", async () => {
    const desk = openDesk({ parts: { pause: 500 } });
    const asked = [];
    for (const version of ["1.0.0", "1.1.0", "2.0.0"])
      asked.push(await desk.ask(`Please put ${version} on staging.`));
    await Promise.all(asked.map(({ address }) => desk.mail("approve", { to: address })));
    const ended = await Promise.all(asked.map(({ runId }) => desk.stops(runId)));
    expect(ended.map((outcome) => outcome.status === "completed" && outcome.output.status)).toEqual([
      "deployed",
      "deployed",
      "rolled-back",
    ]);
    expect(desk.site.live("staging")).toMatch(/^1\./);
  });

  test("one that never ends is not waited for forever", async () => {
    const desk = openDesk({ parts: { pause: 0 } });
    expect(desk.site.takeTurn("staging", "another-run")).toBe(true);
    const { runId, address } = await desk.ask("Please put 1.1.0 on staging.");
    await desk.mail("approve", { to: address });
    expect(await desk.stops(runId)).toMatchObject({ output: { status: "busy" } });
    expect(desk.site.live("staging")).toBeNull();
  });
});
