import { createApp, durable } from "@durable/core";
import { faultyStorage, seeded } from "@durable/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { kindsOf, lab, outputOf, pause, secret, tokenOf } from "./support/behaviour-lab.ts";

const counting = durable("counting", (ctx) => ctx.suspend("n", { schema: z.number() }));

test("H34 a bad answer is told what is wrong with it, and a good one then works", async () => {
  const { world, storage } = lab();
  const flow = counting.with({ storage, world, secret });
  const token = tokenOf(await world.run(flow.run(undefined, { id: "r" })));
  const bad = await world.run(flow.resume(token, "five"));
  expect(bad).toMatchObject({ status: "invalid", outcome: { status: "suspended" } });
  expect(bad.issues).toMatch(/expected number/);
  expect(await world.run(flow.resume(token, 5))).toMatchObject({
    status: "accepted",
    outcome: { output: 5 },
  });
});

test("H34 a bad answer that was delivered is recorded, and a good one then works", async () => {
  const { world, storage } = lab();
  const flow = counting.with({ storage, world, secret });
  const app = createApp({ workflows: [flow], storage, world, secret });
  const token = tokenOf(await world.run(flow.run(undefined, { id: "r" })));
  expect((await app.deliver(token, "five")).status).toBe("accepted");
  expect(await world.run(app.advance("r"))).toMatchObject({ status: "suspended", waiting: [{ key: "n" }] });
  expect(await kindsOf(flow.get("r"))).toContain("suspend.rejected n");
  expect((await app.deliver(token, 5)).status).toBe("accepted");
  expect(outputOf(await world.run(app.advance("r")))).toBe(5);
});

test("H30 an answer's id counts for that answer, not for one that was rejected before it", async () => {
  const { world, storage } = lab();
  const flow = counting.with({ storage, world, secret });
  const app = createApp({ workflows: [flow], storage, world, secret });
  const token = tokenOf(await world.run(flow.run(undefined, { id: "r" })));
  await app.deliver(token, "five", { id: "bad" });
  await world.run(app.advance("r"));
  expect((await world.run(flow.resume(token, 5, { id: "good" }))).status).toBe("accepted");
  expect((await world.run(flow.resume(token, 5, { id: "good" }))).status).toBe("accepted");
  expect((await world.run(flow.resume(token, "five", { id: "bad" }))).status).toBe("duplicate");
});

test("a delivered answer that the schema makes null is null to the workflow", async () => {
  const { world, storage } = lab();
  const nothing = durable("nothing", (ctx) => ctx.suspend("n", { schema: z.any().transform(() => null) }));
  const flow = nothing.with({ storage, world, secret });
  const app = createApp({ workflows: [flow], storage, world, secret });
  await app.deliver(tokenOf(await world.run(flow.run(undefined, { id: "r" }))), "raw");
  expect(outputOf(await world.run(app.advance("r")))).toBe(null);
});

test("H40 an answer that was accepted before the time-out's entry is what the workflow gets", async () => {
  for (let seed = 1; seed <= 40; seed++) {
    const { world, storage } = lab(seed);
    const random = seeded(seed);
    let token = "";
    const flow = durable("deadline", async (ctx) => {
      const wait = ctx.suspend<string>("ok", { timeout: 100, fallback: "nobody" });
      token = wait.token;
      const [answer] = await Promise.all([
        wait,
        ctx.step("x", () => pause(world, random.between(80, 105))),
        ctx.step("y", () => pause(world, random.between(80, 105))),
        ctx.step("z", () => pause(world, 200)),
      ]);
      return answer;
    });
    const slow = faultyStorage(storage, { world, latency: () => random.between(0, 8) });
    const app = createApp({ workflows: [flow], storage, world, secret });
    const answering = pause(world, random.between(85, 110)).then(() => app.deliver(token, "answer"));
    const running = flow.with({ storage: slow, world, secret }).run(undefined, { id: "r" });
    const [outcome, { status }] = await world.run(Promise.all([running, answering]));
    expect(outputOf(outcome), `seed ${seed}: ${status}`).toBe(status === "accepted" ? "answer" : "nobody");
  }
});
