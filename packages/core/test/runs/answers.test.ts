import { createApp, durable } from "@durable/core";
import { faultyStorage, seeded } from "@durable/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { hooked, kindsOf, lab, outputOf, pause, secret, tokenOf } from "../support/behaviour-lab.ts";
import { dieAt, replayOf, runOf } from "../support/behaviour-lives.ts";

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
  const app = createApp({ workflows: [flow], bind: false, storage, world, secret });
  const token = tokenOf(await world.run(flow.run(undefined, { id: "r" })));
  expect((await app.resume(token, "five", { drive: false })).status).toBe("accepted");
  expect(await world.run(app.advance("r"))).toMatchObject({ status: "suspended", waiting: [{ key: "n" }] });
  expect(await kindsOf(flow.get("r"))).toContain("suspend.rejected n");
  expect((await app.resume(token, 5, { drive: false })).status).toBe("accepted");
  expect(outputOf(await world.run(app.advance("r")))).toBe(5);
});

test("H30 an answer's id counts for that answer, not for one that was rejected before it", async () => {
  const { world, storage } = lab();
  const flow = counting.with({ storage, world, secret });
  const app = createApp({ workflows: [flow], bind: false, storage, world, secret });
  const token = tokenOf(await world.run(flow.run(undefined, { id: "r" })));
  await app.resume(token, "five", { id: "bad", drive: false });
  await world.run(app.advance("r"));
  expect((await world.run(flow.resume(token, 5, { id: "good" }))).status).toBe("accepted");
  expect((await world.run(flow.resume(token, 5, { id: "good" }))).status).toBe("accepted");
  expect((await world.run(flow.resume(token, "five", { id: "bad" }))).status).toBe("duplicate");
});

test("a delivered answer that the schema makes null is null to the workflow", async () => {
  const { world, storage } = lab();
  const nothing = durable("nothing", (ctx) => ctx.suspend("n", { schema: z.any().transform(() => null) }));
  const flow = nothing.with({ storage, world, secret });
  const app = createApp({ workflows: [flow], bind: false, storage, world, secret });
  await app.resume(tokenOf(await world.run(flow.run(undefined, { id: "r" }))), "raw", { drive: false });
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
    const answering = pause(world, random.between(85, 110)).then(() =>
      app.resume(token, "answer", { drive: false }),
    );
    const running = flow.with({ storage: slow, world, secret }).run(undefined, { id: "r" });
    const [outcome, { status }] = await world.run(Promise.all([running, answering]));
    expect(outputOf(outcome), `seed ${seed}: ${status}`).toBe(status === "accepted" ? "answer" : "nobody");
  }
});

test.each(["resume", "record"] as const)(
  "defaults and transforms of an answer's schema are the same on replay, and applied once, by %s",
  async (way) => {
    const on = lab();
    let applied = 0;
    const schema = z.object({ n: z.number().default(3) }).transform(({ n }) => {
      applied += 1;
      return { at: new Date(n), tags: new Set([n]) };
    });
    const flow = durable("shaped", async (ctx) => {
      const answer = await ctx.suspend("ok", { schema });
      await ctx.step("after", () => 1);
      return answer;
    });
    const app = createApp({ workflows: [flow], ...on });
    await on.world.run(app.resume(tokenOf(await runOf(on, flow)), {}, { drive: way === "resume" }));
    const expected = { at: new Date(3), tags: new Set([3]) };
    expect(outputOf(await on.world.run(app.advance("r")))).toEqual(expected);
    expect(outputOf(await replayOf(on, flow))).toEqual(expected);
    expect(applied).toBe(1);
  },
);

test("H31 after lost rounds of race(wait, sleep) an answer goes to the live wait, and the stale ones are expired", async () => {
  for (const lost of [0, 1, 4]) {
    const on = lab();
    const flow = durable("rounds", async (ctx) => {
      for (let round = 0; ; round++) {
        const first = await ctx.race({
          answer: (c) => c.suspend<string>("ok"),
          timer: (c) => c.sleep("1h"),
        });
        if (first.name === "answer") return [round, first.value];
      }
    });
    const app = createApp({ workflows: [flow], ...on });
    const tokens = [tokenOf(await runOf(on, flow))];
    for (let round = 1; round <= lost; round++) {
      await on.world.advance(3_600_000);
      const swept = await on.world.run(app.sweep());
      expect(swept.outcomes).toMatchObject([{ status: "suspended", waiting: [{ name: "ok" }] }]);
      tokens.push(tokenOf(swept.outcomes[0]!));
    }
    expect(new Set(tokens).size).toBe(lost + 1);
    for (const stale of tokens.slice(0, -1))
      expect((await on.world.run(app.resume(stale, "stale"))).status).toBe("expired");
    const result = await on.world.run(app.resume(tokens.at(-1)!, "live"));
    expect(outputOf(result.outcome)).toEqual([lost, "live"]);
    expect(outputOf(await replayOf(on, flow))).toEqual([lost, "live"]);
  }
});

/** Answers a wait half an hour after a timer won the race against it, in the middle of a step of an hour. */
async function answeredLate(way: "resume" | "record"): Promise<{ status: string; output: unknown }> {
  const on = lab();
  const flow = durable("decided", async (ctx) => {
    const first = await ctx.race({ answer: (c) => c.suspend("ok"), timer: (c) => c.sleep("1h") });
    await ctx.step("long", () => pause(on.world, 3_600_000));
    return first.name;
  });
  const app = createApp({ workflows: [flow], ...on });
  const token = tokenOf(await runOf(on, flow));
  await on.world.advance(3_600_000);
  const driving = app.advance("r");
  await on.world.advance(1_800_000);
  const answering = app.resume(token, "yes", { drive: way === "resume" });
  await on.world.advance(1_000);
  const { status } = await answering;
  return { status, output: outputOf(await on.world.run(driving)) };
}

test("H31 an answer to a wait whose race is decided is refused while a long step follows, by resume", async () => {
  expect(await answeredLate("resume")).toEqual({ status: "expired", output: "timer" });
});

test("H31 an answer to a wait whose race is decided is refused while a long step follows, by deliver", async () => {
  expect(await answeredLate("record")).toEqual({ status: "expired", output: "timer" });
});

test("H31 an answer that meets the end of its race on the way is refused, by resume", async () => {
  const on = lab();
  const { promise: gate, resolve: finish } = Promise.withResolvers<void>();
  let token = "";
  const flow = durable("met", async (ctx) => {
    const first = await ctx.race({
      answer: (c) => {
        const wait = c.suspend("ok");
        ({ token } = wait);
        return wait;
      },
      work: (c) => c.step("work", () => gate),
    });
    await ctx.step("long", () => pause(on.world, 3_600_000));
    return first.name;
  });
  const driving = flow.with({ ...on }).run(undefined, { id: "r" });
  await on.world.advance(1_000);
  let met = false;
  const storage = hooked(on.storage, async (operation, moment) => {
    if (operation !== "append" || moment !== "before" || met) return;
    met = true;
    finish();
    await pause(on.world, 1_000);
  });
  const { status } = await on.world.run(flow.with({ ...on, storage }).resume(token, "yes"));
  expect({ met, output: outputOf(await on.world.run(driving)) }).toEqual({ met: true, output: "work" });
  expect(status).toBe("expired");
});

test("H34 a bad answer that is judged after the deadline leaves the wait to its time-out", async () => {
  const on = lab();
  const flow = durable("late", (ctx) =>
    ctx.suspend("n", { schema: z.number(), timeout: "1h", fallback: "nobody" }),
  );
  const app = createApp({ workflows: [flow], ...on });
  const token = tokenOf(await runOf(on, flow));
  await on.world.advance(3_590_000);
  expect((await app.resume(token, "five", { drive: false })).status).toBe("accepted");
  await on.world.advance(60_000);
  const driving = app.advance("r");
  await on.world.advance(3_600_000);
  expect(await kindsOf(app.get("r"))).toContain("suspend.rejected n");
  expect(outputOf(await app.get("r").outcome()), "an hour later").toBe("nobody");
  expect(outputOf(await on.world.run(driving))).toBe("nobody");
});

test("H32 a token mailed inside a step is the same after a crash anywhere, and answers the wait", async () => {
  for (const fault of ["crash-before", "crash-after", "crash-then-apply"] as const) {
    for (const append of [1, 2, 3]) {
      const on = lab();
      const sent: string[] = [];
      const flow = durable("mailed", async (ctx) => {
        await ctx.step("plan", () => 1);
        const wait = ctx.suspend<string>("reply");
        await ctx.step("mail", () => void sent.push(wait.token));
        return wait;
      });
      const when = `${fault} at append ${append}`;
      await dieAt(on, flow, append, { fault });
      const outcome = await runOf(on, flow);
      expect(sent.length, `with ${when}`).toBeGreaterThan(0);
      expect(new Set([...sent, tokenOf(outcome)]).size, `with ${when}`).toBe(1);
      const result = await on.world.run(flow.with({ ...on }).resume(sent[0]!, "hello"));
      expect(outputOf(result.outcome), `with ${when}`).toBe("hello");
    }
  }
});

test("H32 an answer to a mailed token is kept though the run died before it wrote that it waits", async () => {
  const on = lab();
  const sent: string[] = [];
  const flow = durable("mailed", async (ctx) => {
    const wait = ctx.suspend<string>("reply");
    await ctx.step("mail", () => void sent.push(wait.token));
    return wait;
  });
  await dieAt(on, flow, 2, { fault: "crash-before" });
  const app = createApp({ workflows: [flow], ...on });
  expect((await app.resume(sent[0]!, "hello", { drive: false })).status).toBe("accepted");
  expect((await on.world.run(app.sweep())).outcomes.map(outputOf)).toEqual(["hello"]);
});
