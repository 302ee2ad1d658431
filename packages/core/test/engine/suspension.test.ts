import type { Context } from "@durable/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { outputOf, runId, stage, tokenOf, type Code } from "../support/order-stage.ts";

/** What user code around a wait may do when the wait throws, ends or is given up. */
type Around = (ctx: Context, wait: (c: Context) => Promise<unknown>, sees: (text: string) => void) => unknown;

const arounds: Record<string, Around> = {
  "try, catch, finally": async (ctx, wait, sees) => {
    try {
      return await wait(ctx);
    } catch (error) {
      sees(`caught ${String(error)}`);
      throw error;
    } finally {
      sees("finally");
    }
  },
  "a catch that swallows everything": async (ctx, wait, sees) => {
    for (let tries = 1; ; tries++) {
      try {
        return await wait(ctx);
      } catch {
        sees(`try ${tries} failed`);
      }
    }
  },
  "then, catch, finally": (ctx, wait, sees) =>
    wait(ctx)
      .then(
        (value) => {
          sees("then");
          return value;
        },
        () => sees("rejected"),
      )
      .finally(() => sees("finally")),
  "Promise.allSettled": async (ctx, wait, sees) => {
    const [settled] = await Promise.allSettled([wait(ctx)]);
    sees(settled.status);
    return settled.status === "fulfilled" ? settled.value : settled.reason;
  },
  "Promise.any": async (ctx, wait, sees) => {
    const value = await Promise.any([wait(ctx), Promise.reject(new Error("no"))]).finally(() => sees("any"));
    return value;
  },
  "an async wrapper around an async wrapper": async (ctx, wait, sees) => {
    const logged = async <T>(work: () => Promise<T>): Promise<T> => {
      try {
        return await work();
      } finally {
        sees("logged");
      }
    };
    return logged(() => logged(() => wait(ctx)));
  },
  "an async generator": async (ctx, wait, sees) => {
    async function* values(): AsyncGenerator {
      try {
        yield await wait(ctx);
      } finally {
        sees("generator closed");
      }
    }
    for await (const value of values()) return value;
    return null;
  },
  "await using": async (ctx, wait, sees) => {
    await using resource = {
      [Symbol.asyncDispose]: () => {
        sees("disposed");
        return Promise.resolve();
      },
    };
    return (await wait(ctx)) ?? resource;
  },
  "a thenable of one's own": async (ctx, wait, sees) => {
    const own = {
      // oxlint-disable-next-line unicorn/no-thenable -- wrapper libraries hand such things out
      then: (resolve: (value: unknown) => void, reject: (error: unknown) => void) =>
        void wait(ctx).then(
          (value) => {
            sees("own then");
            resolve(value);
          },
          (error: unknown) => {
            sees("own failure");
            reject(error);
          },
        ),
    };
    return await own;
  },
  "branches that catch": async (ctx, wait, sees) => {
    const { one } = await ctx.parallel({
      one: (c) => wait(c).finally(() => sees("finally in the branch")),
      two: (c) => c.step("beside", () => 1),
    });
    return one;
  },
  "branches whose failures are collected": async (ctx, wait, sees) => {
    const [one] = await ctx.parallel([wait], { mode: "settled" });
    sees(one.status);
    return one.status === "fulfilled" ? one.value : null;
  },
  "a race": async (ctx, wait, sees) => {
    const { value } = await ctx.race({ only: wait });
    sees("decided");
    return value;
  },
};

const waits: Record<string, (c: Context) => Promise<unknown>> = {
  suspend: (c) => c.suspend("review"),
  "suspend with a time limit": (c) => c.suspend("review", { timeout: "1h" }),
  sleep: (c) => c.sleep("3 days").then(() => "yes"),
};

const unhandled: unknown[] = [];
const note = (error: unknown): void => void unhandled.push(error);
beforeAll(() => void process.on("unhandledRejection", note));
afterAll(() => void process.off("unhandledRejection", note));

describe.each(Object.entries(waits))("H8 nothing sees a run being parked in %s", (kind, wait) => {
  test.each(Object.entries(arounds))("%s", async (_, around) => {
    const at = stage();
    const seen: string[] = [];
    const aborted: string[] = [];
    const code: Code = async (ctx) => {
      ctx.signal.addEventListener("abort", () => aborted.push("abort"));
      return around(ctx, wait, (text) => seen.push(text));
    };
    const parked = await at.run(code, 1);
    expect(parked.status).toBe("suspended");
    await at.world.advance(1_000);
    // Nor when the run is looked at again, by the same process or another one.
    expect(await at.run(code, 1)).toMatchObject({ status: "suspended" });
    expect(seen).toEqual([]);
    expect(aborted).toEqual([]);
    const end =
      kind === "sleep"
        ? await at.world.advance(3 * 24 * 3_600_000).then(() => at.run(code, 1))
        : (await at.world.run(at.flow(code, 1).resume(tokenOf(parked, "review"), "yes"))).outcome;
    expect(outputOf(end)).toBe("yes");
    // One life came to the end of the wait, and saw it once.
    expect(new Set(seen).size).toBe(seen.length === 2 && seen[0] === seen[1] ? 1 : seen.length);
    expect(seen.join()).not.toMatch(/caught|failed|rejected|failure/);
    expect(at.world.warnings).toEqual([]);
  });
});

describe("nothing sees a run being", () => {
  const guarded =
    (seen: string[], before: (ctx: Context) => unknown): Code =>
    async (ctx) => {
      try {
        await before(ctx);
        return await ctx.suspend("review");
      } catch (error) {
        seen.push(`caught ${String(error)}`);
        throw error;
      } finally {
        seen.push("finally");
      }
    };

  test("blocked by changed code", async () => {
    const at = stage();
    const seen: string[] = [];
    const right = guarded(seen, (ctx) => ctx.step("a", () => 1));
    const parked = await at.run(right, 1);
    const wrong = guarded(seen, (ctx) => ctx.sleep(1, { name: "a" }));
    expect(await at.run(wrong)).toMatchObject({ status: "blocked" });
    await at.world.advance(10_000);
    expect(seen).toEqual([]);
    await at.world.run(at.flow(right).resume(tokenOf(parked, "review"), "yes"));
    expect(seen).toEqual(["finally"]);
  });

  test("cancelled, while it is driven and while it is parked", async () => {
    const at = stage({ patience: "1h" });
    const seen: string[] = [];
    let reason: unknown = null;
    const code = guarded(seen, (ctx) => {
      ctx.signal.addEventListener("abort", () => (reason = ctx.signal.reason));
      return ctx.sleep("10m");
    });
    const driven = at.flow(code, 1).run(null, { id: runId });
    at.world.timer(5_000, () => void at.flow(code, 1).cancel(runId));
    expect(await at.world.run(driven)).toMatchObject({ status: "cancelled" });
    await at.world.advance(3_600_000);
    expect(seen).toEqual([]);
    expect(reason).toMatchObject({ code: "cancelled" });
  });

  test("left by a driver that lost its race: losers hear of it by their signal alone", async () => {
    const at = stage();
    const seen: string[] = [];
    const code: Code = (ctx) =>
      ctx.race({
        quick: (c) => c.step("quick", () => "done"),
        slow: async (c) => {
          c.signal.addEventListener("abort", () => seen.push("abort"));
          try {
            await c.suspend("review");
          } catch (error) {
            seen.push(`caught ${String(error)}`);
          } finally {
            seen.push("finally");
          }
        },
      });
    expect(outputOf(await at.run(code, 1))).toEqual({ name: "quick", value: "done" });
    await at.world.advance(10_000);
    expect(seen).toEqual(["abort"]);
  });
});

test("no promise was left to fail unseen", () => {
  expect(unhandled).toEqual([]);
});
