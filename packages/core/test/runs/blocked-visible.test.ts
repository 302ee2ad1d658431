import { createApp, durable, type App, type Outcome } from "@durable/core";
import type { BlockedNote } from "@durable/core/storage";
import { describe, expect, test } from "vitest";
import { lab, outputOf, pause, tokenOf, type Lab } from "../support/behaviour-lab.ts";
import { silent, type Flow } from "../support/behaviour-lives.ts";
import { open } from "../support/worker-lab.ts";
import { record } from "../support/worker-runs.ts";

const hour = 3_600_000;
/** Longer than any sleep here, so that runs stay in memory until they end. */
const patience = "2d";

/** A run that cannot continue, the code with which it cannot, and code with which it can. */
interface Case {
  readonly code: string;
  readonly message: RegExp;
  readonly bad: Flow;
  readonly good: Flow;
  readonly output: unknown;
  /** Makes run `r`. */
  readonly prepare: () => Promise<void>;
}

function diverged(on: Lab): Case {
  const good: Flow = durable("flow", async (ctx) => [
    await ctx.step("a", () => "a"),
    await ctx.step("b", () => "b"),
  ]);
  const bad: Flow = durable("flow", (ctx) => ctx.sleep("1s", { name: "a" }));
  return {
    code: "diverged",
    message: /recorded as kind "step"/,
    bad,
    good,
    output: ["a", "b"],
    prepare: async () => {
      const first: Flow = durable("flow", async (ctx) => {
        await ctx.step("a", () => "a");
        return ctx.sleep("1h");
      });
      await on.world.run(first.with({ ...on }).run(undefined, { id: "r" }));
      await on.world.advance(2 * hour);
    },
  };
}

function foreignAwait(on: Lab): Case {
  const twice = (awaits: boolean): Flow =>
    durable("flow", async (ctx) => {
      const call = async (ms: number): Promise<void> => {
        if (awaits) await pause(on.world, ms);
        return ctx.sleep("1d", { name: "same" });
      };
      // Keeps the run in memory while the others come to their calls.
      const busy = ctx.step("busy", () => pause(on.world, 100));
      await Promise.all([call(10), call(20), busy]);
      return "done";
    });
  return {
    code: "foreign-await",
    message: /after awaiting something other than ctx/,
    output: "done",
    bad: twice(true),
    good: twice(false),
    prepare: async () => void (await record(on, "r", { workflow: "flow" })),
  };
}

function poison(on: Lab): Case {
  const good: Flow = durable("flow", (ctx) => ctx.step("a", () => "a"));
  return {
    code: "poison",
    message: /4 times without progress/,
    bad: good,
    good,
    output: "a",
    prepare: async () => {
      const locator = await record(on, "r", { workflow: "flow" });
      for (let n = 0; n < 4; n++) {
        await on.storage.lease(locator, `dead ${n}`, 1);
        await on.world.advance(2);
      }
    },
  };
}

const cases = { diverged, "foreign-await": foreignAwait, poison };

/** The status and the note of run `r` in lists. */
async function listed(app: App): Promise<{ status: string | undefined; blocked: BlockedNote | undefined }> {
  const { runs } = await app.list();
  const head = runs.find(({ runId }) => runId === "r");
  return { status: head?.status, blocked: head?.blocked };
}

const ids = async (app: App, status: "blocked" | "running" | "suspended"): Promise<string[]> =>
  (await app.list({ status })).runs.map(({ runId }) => runId);

describe.each(Object.entries(cases))("a run that is blocked as %s", (_, make) => {
  /** It is blocked now; `again` finds it blocked once more. */
  async function blocked() {
    const on = lab();
    const found = make(on);
    await found.prepare();
    const bad = createApp({ ...on, workflows: [found.bad], patience });
    const again = (): Promise<Outcome<unknown>> => on.world.run(bad.advance("r", { maxStarts: 3 }));
    const outcome = await again();
    return { on, ...found, app: bad, outcome, again };
  }

  test("says so in its outcome and in lists, with reason and time", async () => {
    const { on, app, code, message, outcome } = await blocked();
    const error = { code, message: expect.stringMatching(message) as string };
    expect(outcome).toMatchObject({ status: "blocked", error });
    const { since } = outcome as { since: number };
    expect(since).toBeGreaterThan(on.world.now() - 1_000);
    await on.world.advance(hour);
    expect(await app.get("r").outcome()).toEqual({
      runId: "r",
      recorded: false,
      state: "blocked",
      status: "blocked",
      error: expect.objectContaining(error) as Error,
      since,
      waiting: [],
    });
    expect(await listed(app)).toMatchObject({ status: "blocked", blocked: { ...error, since } });
    expect(await ids(app, "blocked")).toEqual(["r"]);
    expect([...(await ids(app, "running")), ...(await ids(app, "suspended"))]).toEqual([]);
  });

  test("is blocked since the same time when it is found blocked again", async () => {
    const { on, app, outcome, again } = await blocked();
    const { since } = outcome as { since: number };
    for (let n = 0; n < 3; n++) {
      await on.world.advance(hour);
      expect(await again()).toMatchObject({ status: "blocked", since });
      expect(await listed(app)).toMatchObject({ status: "blocked", blocked: { since } });
    }
  });

  test("is not blocked once its code is right", async () => {
    const { on, good, output } = await blocked();
    const app = createApp({ ...on, workflows: [good], patience });
    expect(outputOf(await on.world.run(app.advance("r")))).toEqual(output);
    expect(await listed(app)).toEqual({ status: "completed", blocked: undefined });
    expect(outputOf(await app.get("r").outcome())).toEqual(output);
    expect(await ids(app, "blocked")).toEqual([]);
  });

  test("is left as it is by a process that does not have its workflow", async () => {
    const { on, app } = await blocked();
    const before = await listed(app);
    const other: Flow = durable("other", () => "other");
    const { app: stranger, worker } = open(on, [other], { interval: 1_000 });
    await on.world.advance(10_000);
    await expect(on.world.run(stranger.advance("r"))).rejects.toMatchObject({ code: "unknown-workflow" });
    await worker.stop();
    expect(await listed(app)).toEqual(before);
  });

  test("is told to the listener of a worker", async () => {
    const on = lab();
    const { prepare, bad, code } = make(on);
    await prepare();
    const { app, heard, until } = open(on, [bad], { maxStarts: 3 });
    await until(1);
    expect(heard[0]).toMatchObject({ runId: "r", status: "blocked", error: { code } });
    expect(await listed(app)).toMatchObject({
      status: "blocked",
      blocked: { since: (heard[0] as { since: number }).since },
    });
  });

  test("works on a storage that keeps no notes, which lists its recorded status", async () => {
    const on = lab();
    const { prepare, bad, good, code, output } = make(on);
    await prepare();
    const storage = silent(on);
    const app = createApp({ ...on, storage, workflows: [bad], patience });
    expect(await on.world.run(app.advance("r", { maxStarts: 3 }))).toMatchObject({
      status: "blocked",
      error: { code },
    });
    expect((await listed(app)).status).not.toBe("blocked");
    expect((await app.get("r").outcome()).status).not.toBe("blocked");
    const right = createApp({ ...on, storage, workflows: [good], patience });
    expect(outputOf(await on.world.run(right.advance("r")))).toEqual(output);
  });
});

test("a run that is poison stays blocked in lists while workers refuse it beside other runs", async () => {
  const on = lab();
  const { prepare, bad } = poison(on);
  await prepare();
  const app = createApp({ ...on, workflows: [bad] });
  await on.world.run(app.advance("r", { maxStarts: 3 }));
  const before = await listed(app);
  const long: Flow = durable("long", (ctx) => ctx.step("work", () => pause(on.world, 20_000)));
  await record(on, "neighbour", { workflow: "long" });
  const { worker, heard } = open(on, [bad, long], { maxStarts: 3 });
  await on.world.advance(10_000);
  expect(worker.active).toBe(1);
  expect(heard).toEqual([]);
  expect(await listed(app)).toEqual(before);
});

describe("a blocked run that waits for an answer", () => {
  const good: Flow = durable("ask", async (ctx) => {
    await ctx.step("a", () => 1);
    return ctx.suspend<string>("ok");
  });

  async function waiting(bad: Flow) {
    const on = lab();
    const token = tokenOf(await on.world.run(good.with({ ...on }).run(undefined, { id: "r" })));
    const app = createApp({ ...on, workflows: [bad] });
    return { on, app, token };
  }

  test("is not blocked any more once it is answered", async () => {
    const { on, app, token } = await waiting(durable("ask", (ctx) => ctx.sleep("1s", { name: "a" })));
    expect(await on.world.run(app.advance("r"))).toMatchObject({ status: "blocked" });
    expect(await listed(app)).toMatchObject({ status: "blocked", blocked: { code: "diverged" } });
    expect(await app.get("r").outcome()).toMatchObject({
      status: "blocked",
      waiting: [{ key: "ok", token }],
    });
    expect((await app.resume(token, "yes", { drive: false })).status).toBe("accepted");
    expect(await listed(app)).toEqual({ status: "running", blocked: undefined });
    const right = createApp({ ...on, workflows: [good], patience });
    expect(outputOf(await on.world.run(right.advance("r")))).toBe("yes");
  });

  test("tells the error of code that throws before it comes to the wait", async () => {
    const { on, app, token } = await waiting(
      durable("ask", () => {
        throw new TypeError("the settings are missing");
      }),
    );
    const { status, outcome } = await on.world.run(app.resume(token, "yes"));
    expect(status).toBe("accepted");
    expect(outcome?.status === "blocked" && outcome.error).toMatchObject({
      code: "diverged",
      message: expect.stringMatching(
        /failed \(TypeError: the settings are missing\) without reaching the open suspend point "ok"/,
      ) as string,
      cause: { name: "TypeError", message: "the settings are missing" },
    });
    expect(await listed(app)).toMatchObject({
      status: "blocked",
      blocked: { message: expect.stringContaining("the settings are missing") as string },
    });
    const right = createApp({ ...on, workflows: [good], patience });
    expect(outputOf(await on.world.run(right.advance("r")))).toBe("yes");
  });
});
