import { createApp, durable, type App, type Outcome } from "@durable/core";
import { seeded, type Random } from "@durable/testing";
import { expect, inject, test } from "vitest";
import { lab, outputOf, pause, tokenOf, type Lab } from "./support/behaviour-lab.ts";
import { batchesOf, runOf } from "./support/behaviour-lives.ts";
import { entriesOf, settlement } from "./support/order-stage.ts";

/** Steps, waits, a sleep and a step that fails once; `bodies` counts by key. */
function order(on: Lab) {
  const bodies = new Map<string, number>();
  const work =
    (value: string, fails = 0) =>
    async ({ key, attempt }: { key: string; attempt: number }) => {
      bodies.set(key, (bodies.get(key) ?? 0) + 1);
      await pause(on.world, 40);
      if (attempt <= fails) throw new Error("not yet");
      return value;
    };
  const flow = durable("order", async (ctx) => {
    const quote = await ctx.step("quote", work("quote"));
    const answers = await ctx.parallel({
      legal: async (c) => [await c.suspend<string>("ok"), await c.step("file", work("legal filed"))],
      sales: async (c) => [await c.suspend<string>("ok"), await c.step("file", work("sales filed"))],
    });
    await ctx.sleep("2h");
    return [
      quote,
      answers,
      await ctx.step("ship", work("shipped", 1), { retry: { delay: "10m", jitter: false } }),
    ];
  });
  return { bodies, flow };
}

type Message = (app: App) => Promise<unknown>;

/** A queue that delivers each message `copies` times, in any order, up to an hour late, to any of four consumers. */
function badQueue(on: Lab, apps: readonly App[], random: Random, copies: number) {
  const under: Promise<unknown>[] = [];
  return {
    under,
    send: (message: Message) => {
      for (let copy = 0; copy < copies; copy++) {
        const late = pause(on.world, random.between(0, 3_600_000)).then(() => message(random.pick(apps)));
        under.push(late.catch((error: unknown) => error));
      }
    },
  };
}

async function play(seed: number, copies: number) {
  const on = lab(seed);
  const random = seeded(seed);
  const { bodies, flow } = order(on);
  const apps = Array.from({ length: 4 }, () => createApp({ ...on, workflows: [flow], patience: "1m" }));
  const queue = badQueue(on, apps, random, copies);
  const parked = await runOf(on, flow);
  const wake: Message = (app) => app.advance("r");
  for (const side of ["legal", "sales"]) {
    const token = tokenOf(parked, `parallel[${side}]/ok`);
    // What is written is answered at least once; the wake-up only says "look at run r".
    queue.send((app) => app.resume(token, `${side} agrees`, { id: side, drive: false }));
    queue.send((app) => app.resume(token, `${side} agrees`, { id: side }));
    queue.send(wake);
  }
  let outcome: Outcome<unknown> | null = null;
  for (let hours = 0; outcome?.status !== "completed"; hours++) {
    expect(hours, "it comes to its end").toBeLessThan(24);
    queue.send(wake);
    await on.world.advance(3_600_000);
    outcome = await apps[0]!.get("r").outcome();
  }
  await on.world.advance(3_600_000);
  const answers = await on.world.run(Promise.all(queue.under));
  return { bodies, output: outputOf(outcome), answers, batches: await batchesOf(on) };
}

const times = inject("full") ? 100 : 20;

test(`H57 every message ${times} times, in any order and an hour late: what one calm consumer makes of it`, async () => {
  const calm = await play(1, 1);
  for (let seed = 2; seed <= 4; seed++) {
    const { bodies, output, answers, batches } = await play(seed, times);
    expect(output, `seed ${seed}`).toEqual(calm.output);
    expect(Object.fromEntries(bodies), `seed ${seed}: bodies within the retry policy`).toEqual({
      quote: 1,
      "parallel[legal]/file": 1,
      "parallel[sales]/file": 1,
      ship: 2,
    });
    const settled = entriesOf(batches).filter(({ kind }) => settlement.test(kind));
    const keys = settled.map(({ key }) => key);
    expect(new Set(keys).size, `seed ${seed}: one record a key`).toBe(keys.length);
    // No message failed, and a copy of an accepted answer is accepted, too.
    const statuses = answers.map((answer) => (answer as { status?: string } | null)?.status ?? "failed");
    expect(answers.length).toBeGreaterThan(6 * times);
    expect(new Set(statuses)).not.toContain("failed");
    expect(new Set(statuses)).not.toContain("duplicate");
    expect(new Set(statuses)).not.toContain("blocked");
    expect(batches.length, `seed ${seed}: no entry for a message that changes nothing`).toBeLessThanOrEqual(
      calm.batches.length + 4,
    );
  }
});
