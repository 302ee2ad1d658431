import { createApp, durable, type Run, type Workflow } from "@durable/core";
import { describe, expect, test } from "vitest";
import { failureOf, lab, tokenOf, type Lab } from "../support/behaviour-lab.ts";
import { silent } from "../support/behaviour-lives.ts";

const ask = durable("ask", async (ctx, topic: string) => {
  const draft = await ctx.step("draft", () => `${topic}!`);
  return `${draft} ${await ctx.suspend<string>("ok")}`;
});

type Ask = typeof ask;
type Place = (on: Lab) => { readonly here: Ask; readonly there: Ask };

/** Who has the handle, and who answers. */
const places: Readonly<Record<string, Place>> = {
  "in its own process, warm": (on) => same(ask.with({ ...on, warm: 10 })),
  "in its own process, cold": (on) => same(ask.with({ ...on, warm: 0 })),
  "in another process": (on) => ({ here: ask.with({ ...on, warm: 10 }), there: ask.with({ ...on }) }),
};

/** What made the handle. */
const makers = {
  start: (_: Lab, flow: Ask) => flow.start("tides", { id: "r" }),
  fork: async ({ world }: Lab, flow: Ask) => {
    await world.run(flow.run("tides", { id: "parent" }));
    return flow.fork("parent", { from: "ok", id: "r" });
  },
};

function same(flow: Ask): ReturnType<Place> {
  return { here: flow, there: flow };
}

/** The token of the parked run, read from its journal and not through its handle. */
async function tokenInJournal(on: Lab, { id }: Run<string, string>): Promise<string> {
  await on.world.advance(100);
  return tokenOf(
    await ask
      .with({ ...on })
      .get(id)
      .outcome(),
  );
}

const everyPlace = Object.entries(places).flatMap(([place, where]) =>
  Object.entries(makers).map(([maker, make]) => ({ place, where, maker, make })),
);

describe.each(everyPlace)("a handle of $maker(), answered $place", ({ where, make }) => {
  test("gives the output when it is asked only afterwards", async () => {
    const on = lab();
    const { here, there } = where(on);
    const run = await make(on, here);
    await on.world.run(there.resume(await tokenInJournal(on, run), "yes"));
    expect(await on.world.run(run.result())).toBe("tides! yes");
    expect(await on.world.run(run.result({ wait: true }))).toBe("tides! yes");
    expect(await run.outcome()).toMatchObject({ status: "completed", output: "tides! yes" });
  });

  test("waits for the output from the beginning", async () => {
    const on = lab();
    const { here, there } = where(on);
    const run = await make(on, here);
    const before = run.result({ wait: true });
    await on.world.run(there.resume(await tokenInJournal(on, run), "yes"));
    expect(await on.world.run(before)).toBe("tides! yes");
    expect(await on.world.run(run.result())).toBe("tides! yes");
  });

  test("waits for the output when it is first asked after the run has parked", async () => {
    const on = lab();
    const { here, there } = where(on);
    const run = await make(on, here);
    const token = await tokenInJournal(on, run);
    const parked = run.result({ wait: true });
    await on.world.advance(100);
    await on.world.run(there.resume(token, "yes"));
    expect(await on.world.run(parked)).toBe("tides! yes");
  });

  test("rejects with the open wait, then gives the output", async () => {
    const on = lab();
    const { here, there } = where(on);
    const run = await make(on, here);
    const error = await on.world.run(failureOf(run.result()));
    const token = await tokenInJournal(on, run);
    expect(error).toMatchObject({ code: "suspended", details: { waiting: [{ key: "ok", token }] } });
    await on.world.run(there.resume(token, "yes"));
    expect(await on.world.run(run.result())).toBe("tides! yes");
  });

  test("rejects as cancelled after a cancel", async () => {
    const on = lab();
    const { here, there } = where(on);
    const run = await make(on, here);
    await on.world.advance(100);
    await on.world.run(there.cancel(run.id));
    for (const options of [{}, { wait: true }])
      expect(await on.world.run(failureOf(run.result(options)))).toMatchObject({ code: "cancelled" });
  });

  test("rejects as not-found after a delete", async () => {
    const on = lab();
    const { here } = where(on);
    const run = await make(on, here);
    await on.world.advance(100);
    await on.world.run(appOf(on, here).delete(run.id));
    for (const ask of [() => run.result(), () => run.result({ wait: true }), () => run.outcome()])
      expect(await on.world.run(failureOf(ask()))).toMatchObject({ code: "not-found" });
  });
});

describe("a handle whose run went on without it", () => {
  test("rejects with the next open wait, not with the first", async () => {
    const on = lab();
    const two = durable("two", async (ctx) => [await ctx.suspend("a"), await ctx.suspend("b")]).with({
      ...on,
      warm: 10,
    });
    const run = await two.start(undefined, { id: "r" });
    await on.world.advance(100);
    await on.world.run(two.resume(tokenOf(await two.get("r").outcome(), "a"), 1));
    expect(await on.world.run(failureOf(run.result()))).toMatchObject({
      code: "suspended",
      details: { waiting: [{ key: "b" }] },
    });
    await on.world.run(two.resume(tokenOf(await run.outcome(), "b"), 2));
    expect(await on.world.run(run.result())).toEqual([1, 2]);
  });

  test("that waits is rejected as not-found once it finds the run deleted", async () => {
    const on = lab();
    const { here, there } = { here: ask.with({ ...on, storage: silent(on) }), there: ask.with({ ...on }) };
    await on.world.run(there.run("tides", { id: "r" }));
    const waiting = failureOf(here.get("r").result({ wait: true }));
    await on.world.advance(3_000);
    await on.world.run(appOf(on, there).delete("r"));
    expect(await on.world.run(waiting)).toMatchObject({ code: "not-found" });
  });
});

function appOf(on: Lab, flow: Workflow<string, string>) {
  return createApp({ ...on, workflows: [flow], bind: false });
}
