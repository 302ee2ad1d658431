/** Permits of calls that never begin, because their race was decided or their run has ended in the moment of the grant. */

import { createApp, durable, MemoryStorage, type Context, type Storage } from "@durable/core";
import { expect, test } from "vitest";

/** Memory in which a permit is granted only when the step `quick` is recorded. The reply to what is swapped then may be lost. */
function held(isLost = false) {
  const inner = new MemoryStorage();
  const { limits } = inner;
  const recorded = Promise.withResolvers<void>();
  let swaps = 0;
  const slow = {
    ...limits,
    swap: async (...given: Parameters<typeof limits.swap>) => {
      const swapped = await limits.swap(...given);
      if (given[0] !== "quota openai") return swapped;
      if (++swaps === 2 && isLost) throw new Error("connection reset");
      await recorded.promise;
      return swapped;
    },
  };
  const storage: Storage = new Proxy(inner, {
    get: (_, name) => {
      if (name === "limits") return slow;
      const value: unknown = Reflect.get(inner, name, inner);
      if (name === "append")
        return async (request: Parameters<Storage["append"]>[0]) => {
          await inner.append(request);
          if (request.batch.includes('"step.completed"') && request.batch.includes('quick"'))
            recorded.resolve();
        };
      return typeof value === "function" ? (value.bind(inner) as unknown) : value;
    },
  });
  const read = async () => {
    const { value } = await limits.read("quota openai");
    const [window = "[]", under] = JSON.parse(value ?? "[]") as [string?, unknown?];
    const [, , , , ...used] = JSON.parse(window) as [number, number, number, unknown, ...[number, number][]];
    return { swaps, under, requests: used.reduce((sum, [, count]) => sum + count, 0) };
  };
  return { storage, read };
}

let asked = 0;
const model = (ctx: Context) => ctx.step("model", () => `model ${++asked}`, { quota: "openai" });
const quick = (ctx: Context) => ctx.step("quick", () => "quick");

const codes: readonly (readonly [string, (ctx: Context) => Promise<unknown>])[] = [
  ["a race is decided", (ctx) => ctx.race({ quick, model })],
  ["a run ends without waiting for the call", (ctx) => Promise.race([quick(ctx), model(ctx)])],
];

test.each(codes)("a permit that comes when %s is given back", async (_, code) => {
  asked = 0;
  const { storage, read } = held();
  const flow = durable("flow", code);
  const quotas = { openai: { concurrent: 1 } };
  const app = createApp({ storage, secret: "only for this test, 32 characters", workflows: [flow], quotas });
  await app.run(flow, undefined, { id: "r" });
  expect(asked).toBe(0);
  await expect.poll(read).toMatchObject({ under: {} });
});

test("a request that is given back is given back once, also when the reply was lost", async () => {
  const { storage, read } = held(true);
  const flow = durable("flow", (ctx: Context) => ctx.race({ quick, model }));
  const quotas = { openai: { requests: 5, concurrent: 5 } };
  const app = createApp({ storage, secret: "only for this test, 32 characters", workflows: [flow], quotas });
  await app.run(flow, undefined, { id: "r" });
  await expect.poll(read).toEqual({ swaps: 3, under: {}, requests: 0 });
});
