import { AsyncLocalStorage } from "node:async_hooks";
import { createApp, durable, type Context, type StepOptions } from "@durable/core";
import { describe, expect, test } from "vitest";
import { lab, outputOf, pause, tokenOf } from "../support/behaviour-lab.ts";
import { dieAt, runOf } from "../support/behaviour-lives.ts";
import { open } from "../support/worker-lab.ts";

const als = new AsyncLocalStorage<string>();
const here = (): string | undefined => als.getStore();

/** What the body sees at its start, in a step, after it, in a later step, and in a branch. */
const looks = async (ctx: Context): Promise<unknown[]> => {
  const first = here();
  const inStep = await ctx.step("one", here);
  const after = here();
  await ctx.sleep(10);
  const [branch] = await ctx.parallel([async (c) => [here(), await c.step("two", here), here()]]);
  return [first, inStep, after, here(), ...(branch ?? [])];
};
const all = (text: string): string[] => Array.from({ length: 7 }, () => text);

describe("what surrounds a drive is visible in the workflow and its steps:", () => {
  test("flow.run and flow.start", async () => {
    const on = lab();
    const flow = durable("looks", looks).with(on);
    expect(outputOf(await on.world.run(als.run("run", () => flow.run())))).toEqual(all("run"));
    const run = await on.world.run(als.run("start", () => flow.start()));
    expect(await on.world.run(run.result())).toEqual(all("start"));
  });

  test("two runs at once keep theirs apart", async () => {
    const on = lab();
    const flow = durable("looks", looks).with(on);
    const runs = ["a", "b", "c"].map((name) => als.run(name, () => flow.run()));
    const outcomes = await on.world.run(Promise.all(runs));
    expect(outcomes.map(outputOf)).toEqual([all("a"), all("b"), all("c")]);
  });

  test("app.advance", async () => {
    const on = lab();
    const flow = durable("looks", looks);
    const app = createApp({ ...on, workflows: [flow] });
    await als.run("recorded", () => app.start("looks", undefined, { id: "r", drive: false }));
    const outcome = await on.world.run(als.run("advance", () => app.advance("r")));
    expect(outputOf(outcome)).toEqual(all("advance"));
  });

  test("app.resume, in a process that replays the run", async () => {
    const on = lab();
    const flow = durable("asks", async (ctx) => [await ctx.suspend("ok"), ...(await looks(ctx))]);
    const parked = await on.world.run(als.run("first", () => flow.with(on).run(undefined, { id: "r" })));
    const app = createApp({ ...on, workflows: [flow] });
    const resumed = await on.world.run(als.run("resume", () => app.resume(tokenOf(parked), 1)));
    expect(outputOf(resumed.outcome)).toEqual([1, ...all("resume")]);
  });

  test("a run that stays in memory keeps the context in which its code was called", async () => {
    const on = lab();
    const flow = durable("asks", async (ctx) => [await ctx.suspend("ok"), ...(await looks(ctx))]);
    const app = createApp({ ...on, warm: 10, workflows: [flow] });
    await als.run("first", () => app.start("asks", undefined, { id: "r", drive: false }));
    const parked = await on.world.run(als.run("first", () => app.advance("r")));
    const resumed = await on.world.run(als.run("resume", () => app.resume(tokenOf(parked), 1)));
    expect(outputOf(resumed.outcome)).toEqual([1, ...all("first")]);
  });

  test("a child that cleans up, because its parent no longer needs it", async () => {
    const on = lab();
    const seen: (string | undefined)[] = [];
    const child = durable("child", async (ctx) => {
      seen.push(here());
      ctx.onCancel(() => void seen.push(here()));
      await ctx.suspend("answer");
    });
    const parent = durable("parent", (ctx) =>
      als.run("call", () =>
        ctx.parallel([
          (branch) => branch.child(child, undefined),
          async (branch) => {
            await branch.sleep("1s");
            throw new Error("no");
          },
        ]),
      ),
    );
    await on.world.run(als.run("drive", () => parent.with(on).run()));
    await on.world.advance(60_000);
    // Its first call, the call that cleans up, and the clean-up.
    expect(seen).toEqual(["drive", "drive", "drive"]);
  });

  test("onDrive of a worker", async () => {
    const on = lab();
    const flow = durable("looks", looks);
    const given: string[] = [];
    const { app, until, heard } = open(on, [flow], {
      onDrive: (runId, drive) => {
        given.push(runId);
        return als.run(`drive ${runId}`, drive);
      },
    });
    for (const id of ["a", "b"]) await app.start("looks", undefined, { id, drive: false });
    await until(2);
    expect(given).toEqual(["a", "b"]);
    const outputs = Object.fromEntries(heard.map((outcome) => [outcome.runId, outputOf(outcome)]));
    expect(outputs).toEqual({ a: all("drive a"), b: all("drive b") });
  });
});

/** Every attempt fails but the third. */
const thirdTime: StepOptions = { retry: { attempts: 3, delay: "1s", jitter: false } };

describe("what surrounds a call is visible in its work:", () => {
  const seen: string[] = [];
  const note = (name: string): void => void seen.push(`${name} ${here()}`);
  const output = async (body: (ctx: Context) => unknown): Promise<string[]> => {
    seen.length = 0;
    const on = lab();
    const outcome = await on.world.run(durable("f", body).with(on).run());
    expect(outcome.status).toBe("completed");
    return [...seen];
  };

  test("each attempt of a step", async () => {
    const attempts = await output((ctx) =>
      als.run("inner", () =>
        ctx.step(
          "s",
          ({ attempt }) => {
            note(`attempt ${attempt}`);
            if (attempt < 3) throw new Error("again");
          },
          thirdTime,
        ),
      ),
    );
    expect(attempts).toEqual(["attempt 1 inner", "attempt 2 inner", "attempt 3 inner"]);
  });

  test("each attempt of a stream, at its start and between chunks", async () => {
    const attempts = await output((ctx) =>
      als.run("inner", () =>
        ctx.stream(
          "s",
          async function* ({ attempt }) {
            note(`start ${attempt}`);
            yield 1;
            note(`chunk ${attempt}`);
            if (attempt === 1) throw new Error("again");
          },
          { retry: { attempts: 2, delay: "1s" } },
        ),
      ),
    );
    expect(attempts).toEqual(["start 1 inner", "chunk 1 inner", "start 2 inner", "chunk 2 inner"]);
  });

  test("each of several steps that begin together", async () => {
    const seenThere = await output((ctx) =>
      Promise.all(
        ["a", "b", "c"].map((name) => als.run(name, () => ctx.step(name, () => note(`step ${name}`)))),
      ),
    );
    expect(seenThere).toEqual(["step a a", "step b b", "step c c"]);
  });

  test.each(["parallel", "map", "race"] as const)("the branches of ctx.%s", async (kind) => {
    const on = lab();
    const names = ["a", "b", "c"];
    const branch =
      (name: string) =>
      async (c: Context): Promise<void> => {
        note(`branch ${name}`);
        await c.step("s", () => pause(on.world, 5));
        await c.step("t", () => note(`step ${name}`));
      };
    const branches = Object.fromEntries(names.map((name) => [name, branch(name)]));
    seen.length = 0;
    const flow = durable("f", (ctx) =>
      als.run("inner", async () => {
        if (kind === "parallel") await ctx.parallel(branches, { concurrency: 1 });
        if (kind === "map") await ctx.map(names, (c, name) => branch(name)(c), { concurrency: 1 });
        if (kind === "race") await ctx.race(branches);
      }),
    ).with(on);
    expect((await on.world.run(flow.run())).status).toBe("completed");
    const order =
      kind === "race"
        ? ["branch a", "branch b", "branch c", "step a"]
        : ["branch a", "step a", "branch b", "step b", "branch c", "step c"];
    expect(seen).toEqual(order.map((what) => `${what} inner`));
  });

  test("onUncertain, in another life, as well as the work that it asks for again", async () => {
    const on = lab();
    seen.length = 0;
    const flow = durable("f", (ctx) =>
      als.run(`${here()} inner`, () =>
        ctx.step("s", () => note("work"), {
          onUncertain: () => {
            note("find out");
            return { status: "retry" };
          },
        }),
      ),
    );
    await als.run("first", () => dieAt(on, flow, 3, { fault: "crash-before" }));
    const outcome = await als.run("second", () => runOf(on, flow));
    expect(outcome.status).toBe("completed");
    expect(seen).toEqual(["work first inner", "find out second inner", "work second inner"]);
  });

  test.each([2, 3, 4])("after a crash at append %i, in the next life", async (append) => {
    const on = lab();
    const flow = durable("f", async (ctx) => {
      const steps: unknown[] = [];
      for (const name of ["a", "b", "c"])
        steps.push(await als.run(`${here()} ${name}`, () => ctx.step(name, here)));
      return [...steps, here()];
    });
    await als.run("first", () => dieAt(on, flow, append));
    const lost = Math.min(3, append - 1);
    const expected = ["a", "b", "c"].map((name, i) => `${i < lost ? "first" : "second"} ${name}`);
    expect(outputOf(await als.run("second", () => runOf(on, flow)))).toEqual([...expected, "second"]);
  });
});
