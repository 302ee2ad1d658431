/** `info.heartbeat` of long steps: what is recorded, what the next attempt gets, and steps that fall silent. */

import { createApp, durable } from "@durable/core";
import { viewRun } from "@durable/core/inspect";
import { describe, expect, test } from "vitest";
import { lab, outputOf, pause, type Lab } from "../../support/behaviour-lab.ts";

const progressOf = async (base: Lab, runId: string) =>
  (
    await createApp({ ...base, workflows: [], bind: false })
      .get(runId)
      .entries()
  ).flatMap((entry) =>
    entry.kind === "step.progress" ? [{ value: entry.value, at: entry.at, attempt: entry.attempt }] : [],
  );

/** Copies pages, one a second, from where an earlier attempt came. */
function copying(base: Lab, { pages = 100, dies }: { pages?: number; dies?: (page: number) => boolean }) {
  const copied: number[] = [];
  const flow = durable("copy", (ctx) =>
    ctx.step("copy", async ({ heartbeat, progress }) => {
      for (let page = (progress as { page: number } | undefined)?.page ?? 0; page < pages; page++) {
        await pause(base.world, 1_000);
        if (dies?.(page) === true) throw new Error(`page ${page} is torn`);
        copied.push(page);
        heartbeat({ page: page + 1 });
      }
      return copied.length;
    }),
  );
  return { flow, copied };
}

describe("heartbeats", () => {
  test("record the last progress at most every 30 s, and none after the end", async () => {
    const base = lab();
    const begun = base.world.now();
    const { flow } = copying(base, {});
    expect(outputOf(await base.world.run(flow.with(base).run(undefined, { id: "r" })))).toBe(100);
    const found = await progressOf(base, "r");
    expect(found.map(({ at }) => at - begun)).toEqual([30_000, 60_000, 90_000]);
    const pages = found.map(({ value }) => (value as { page: number }).page);
    for (const [n, page] of pages.entries()) expect(Math.abs(page - 30 * (n + 1))).toBeLessThanOrEqual(1);
    await base.world.advance(60_000);
    expect(await progressOf(base, "r")).toHaveLength(3);
  });

  test("a failed attempt records its last progress at once, and the next one goes on from there", async () => {
    const base = lab();
    let torn = 0;
    const { flow, copied } = copying(base, { pages: 12, dies: (page) => page === 7 && torn++ === 0 });
    expect(outputOf(await base.world.run(flow.with(base).run(undefined, { id: "r" })))).toBe(12);
    expect(copied, "no page is copied twice").toEqual(Array.from({ length: 12 }, (_, n) => n));
    expect(await progressOf(base, "r")).toMatchObject([{ value: { page: 7 }, attempt: 1 }]);
  });

  test("an attempt after a crash gets the last one that was recorded", async () => {
    const base = lab();
    const first = copying(base, {});
    // Nothing of this driver arrives after 65 s.
    const dead = { is: false };
    const storage = new Proxy(base.storage, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        return (...given: unknown[]): unknown =>
          dead.is ? new Promise(() => {}) : (value as (...args: unknown[]) => unknown).apply(target, given);
      },
    });
    const appOf = (flow: typeof first.flow, more: Partial<Lab>) =>
      createApp({ ...base, ...more, workflows: [flow], bind: false });
    await appOf(first.flow, { storage }).start("copy", undefined, { id: "r" });
    await base.world.advance(65_000);
    dead.is = true;
    await base.world.advance(60_000);
    const second = copying(base, {});
    const outcome = await base.world.run(appOf(second.flow, {}).advance("r"));
    expect(outcome.status).toBe("completed");
    expect(Math.abs((second.copied[0] ?? 0) - 60)).toBeLessThanOrEqual(1);
    expect((await progressOf(base, "r")).every(({ attempt }) => attempt === 1)).toBe(true);
  });

  test("a beat without a value records nothing, and a value that cannot be stored is refused where it is given", async () => {
    const base = lab();
    const flow = durable("odd", (ctx) =>
      ctx.step(
        "s",
        async ({ heartbeat }) => {
          heartbeat();
          await pause(base.world, 40_000);
          heartbeat(() => {});
        },
        { retry: false },
      ),
    );
    const outcome = await base.world.run(flow.with(base).run(undefined, { id: "r" }));
    expect(outcome).toMatchObject({
      status: "failed",
      error: { message: expect.stringMatching(/progress of "s"/) },
    });
    expect(await progressOf(base, "r")).toEqual([]);
  });

  test("the view has the progress of a step that works, and not of one that has ended", async () => {
    const base = lab();
    const { flow } = copying(base, { pages: 50 });
    const app = createApp({ ...base, workflows: [flow], bind: false });
    const run = await app.start("copy", undefined, { id: "r" });
    await base.world.advance(40_000);
    const rowOf = async () => viewRun(await run.entries()).rows.find(({ key }) => key === "copy");
    const row = await rowOf();
    expect(row).toMatchObject({ status: "open", attempts: [{ number: 1, endedAt: null }] });
    expect(Math.abs(((row?.progress ?? { page: 0 }) as { page: number }).page - 30)).toBeLessThanOrEqual(1);
    await base.world.run(run.result());
    expect(await rowOf()).toMatchObject({ status: "completed" });
    expect(await rowOf()).not.toHaveProperty("progress");
  });
});

describe("a step that must beat", () => {
  const beating = (base: Lab, silentFrom: number) =>
    durable("beating", (ctx) =>
      ctx.step(
        "s",
        async ({ heartbeat, attempt }) => {
          for (let n = 0; n < 20; n++) {
            await pause(base.world, attempt === 1 && n >= silentFrom ? 3_600_000 : 5_000);
            heartbeat();
          }
          return attempt;
        },
        { heartbeat: "10s", retry: { attempts: 2, delay: "1s", jitter: false } },
      ),
    );

  test("may take as long as it likes while it beats", async () => {
    const base = lab();
    expect(outputOf(await base.world.run(beating(base, Infinity).with(base).run(undefined)))).toBe(1);
  });

  test("fails when it stops beating, and is tried again", async () => {
    const base = lab();
    const begun = base.world.now();
    const flow = beating(base, 3).with(base);
    expect(outputOf(await base.world.run(flow.run(undefined, { id: "r" })))).toBe(2);
    const failed = (await flow.get("r").entries()).find(({ kind }) => kind === "attempt.failed");
    expect(failed).toMatchObject({ error: { code: "step-timeout" }, attempt: 1 });
    expect(String((failed as { error?: { message?: string } }).error?.message)).toMatch(
      /no heartbeat for 10000 ms/,
    );
    expect((failed?.at ?? 0) - begun).toBe(25_000);
  });
});
