import { createApp, durable } from "@durable/core";
import { faultyStorage, seeded } from "@durable/testing";
import { expect, test } from "vitest";
import { lab, outputOf, pause, secret, tokenOf } from "./support/behaviour-lab.ts";

test("H37 the clock of whoever delivers an answer does not carry ctx.now() a year ahead", async () => {
  const { world, storage } = lab();
  const flow = durable("clock", async (ctx) => {
    await ctx.suspend("ok");
    return ctx.now();
  });
  const token = tokenOf(await world.run(flow.with({ storage, world, secret }).run(undefined, { id: "r" })));
  const ahead = { ...world, now: () => world.now() + 365 * 86_400_000 };
  const app = createApp({ workflows: [flow], storage, world: ahead, secret });
  expect((await world.run(app.deliver(token, 1))).status).toBe("accepted");
  const outcome = await world.run(flow.with({ storage, world, secret }).run(undefined, { id: "r" }));
  expect(outputOf(outcome)).toBeLessThan(world.now() + 86_400_000);
});

test("H40 an answer that stands in the journal before the timer fires wins the race against it", async () => {
  for (let seed = 1; seed <= 40; seed++) {
    const { world, storage } = lab(seed);
    const random = seeded(seed);
    let token = "";
    const flow = durable("either", (ctx) =>
      ctx.race({
        answer: (c) => {
          const wait = c.suspend("ok");
          token = wait.token;
          return wait;
        },
        timer: (c) => c.sleep(50),
      }),
    );
    const slow = () => faultyStorage(storage, { world, latency: () => random.between(0, 6) });
    const app = createApp({ workflows: [flow], storage: slow(), world, secret });
    const answering = pause(world, random.between(30, 50)).then(() => app.deliver(token, "yes"));
    const running = flow.with({ storage: slow(), world, secret }).run(undefined, { id: "r" });
    const [outcome] = await world.run(Promise.all([running, answering]));
    const entries = await flow.with({ storage, world, secret }).get("r").entries();
    const first = entries.find(({ kind }) => kind === "suspend.answered" || kind === "sleep.fired");
    const expected = first?.kind === "sleep.fired" ? "timer" : "answer";
    expect(outputOf(outcome), `seed ${seed}`).toMatchObject({ name: expected });
  }
});
