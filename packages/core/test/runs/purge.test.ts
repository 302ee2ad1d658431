import { createApp, durable, type App, type PurgeOptions, type Storage } from "@durable/core";
import { aesGcm } from "@durable/core/encryption";
import { forkForEval } from "@durable/core/storage";
import { countingStorage } from "@durable/testing";
import { describe, expect, test } from "vitest";
import { lab, outputOf, tokenOf, type Lab } from "../support/behaviour-lab.ts";
import { bare } from "../support/worker-lab.ts";

const day = 86_400_000;
const quick = durable("quick", (_ctx, input: string) => input);
const other = durable("other", (ctx) => ctx.step("work", () => "done"));
const failing = durable("failing", (ctx) =>
  ctx.step("work", () => Promise.reject(new Error("no")), { retry: { attempts: 1 } }),
);
const leaf = durable("leaf", (ctx, ask: boolean) =>
  ask ? ctx.suspend<string>("ok") : ctx.step("work", () => "done"),
);
const branch = durable("branch", async (ctx, ask: boolean) => [
  await ctx.child(leaf, false),
  await ctx.child(leaf, ask),
]);
const root = durable("root", async (ctx, ask: boolean) => {
  const found = await ctx.child(branch, false);
  if (ask) await ctx.suspend("go on");
  return found;
});
const workflows = [quick, other, failing, leaf, branch, root];

interface Place extends Lab {
  readonly lab: Lab;
  readonly app: App;
  ids(): Promise<string[]>;
  run(workflow: string, id: string, input?: unknown): Promise<void>;
  purge(options: PurgeOptions): ReturnType<App["purge"]>;
}

function place(on: Lab = lab()): Place {
  const app: App = createApp({ ...on, workflows });
  return {
    ...on,
    lab: on,
    app,
    ids: async () => (await on.storage.list({ limit: 1_000 })).runs.map(({ runId }) => runId).toSorted(),
    run: async (workflow, id, input) => {
      await on.world.run(app.start(workflow, input, { id, drive: false }));
      await on.world.run(app.advance(id));
    },
    purge: (options) => on.world.run(app.purge(options)),
  };
}

const counts = { runs: 0, children: 0, left: 0, byWorkflow: {}, more: false };

describe("purge", () => {
  test("deletes completed runs that ended longer ago than `olderThan`, and says how many", async () => {
    const on = place();
    await on.run("quick", "old-1", "a");
    await on.run("other", "old-2");
    await on.run("failing", "failed");
    await on.run("leaf", "waits", true);
    await on.world.advance(2 * day);
    await on.run("quick", "young", "b");
    expect(await on.purge({ olderThan: "3 days" })).toEqual(counts);
    const expected = { ...counts, runs: 2, byWorkflow: { quick: 1, other: 1 } };
    expect(await on.purge({ olderThan: "1 day", dryRun: true })).toEqual(expected);
    expect(await on.ids()).toEqual(["failed", "old-1", "old-2", "waits", "young"]);
    expect(await on.purge({ olderThan: "1 day" })).toEqual(expected);
    expect(await on.ids()).toEqual(["failed", "waits", "young"]);
    expect(await on.purge({ olderThan: "1 day" }), "again").toEqual(counts);
  });

  test("counts the age from the end of a run, not from its beginning", async () => {
    const on = place();
    await on.run("leaf", "slow", true);
    await on.world.advance(10 * day);
    await on.world.run(on.app.resume(tokenOf(await on.app.get("slow").outcome()), "yes"));
    await on.world.advance(day);
    expect((await on.purge({ olderThan: "5 days" })).runs).toBe(0);
    await on.world.advance(5 * day);
    expect((await on.purge({ olderThan: "5 days" })).runs).toBe(1);
  });

  test("deletes runs of the statuses and workflows that it is asked for", async () => {
    const on = place();
    await on.run("quick", "done", "a");
    await on.run("other", "other");
    await on.run("failing", "failed");
    await on.run("leaf", "cancelled", true);
    await on.world.run(on.app.cancel("cancelled"));
    await on.world.advance(day);
    const olderThan = "1 hour";
    expect((await on.purge({ olderThan, status: "failed", workflow: "quick" })).runs).toBe(0);
    expect((await on.purge({ olderThan, status: ["failed", "cancelled"] })).byWorkflow).toEqual({
      failing: 1,
      leaf: 1,
    });
    expect(await on.ids()).toEqual(["done", "other"]);
    expect((await on.purge({ olderThan, workflow: ["other", "nothing"] })).runs).toBe(1);
    expect(await on.ids()).toEqual(["done"]);
  });

  test("keeps the newest runs of each workflow, by number and by age", async () => {
    const on = place();
    for (let n = 0; n < 6; n++) {
      await on.run("quick", `q${n}`, "a");
      await on.run("other", `o${n}`);
      await on.world.advance(day);
    }
    expect((await on.purge({ keep: 4, dryRun: true })).byWorkflow).toEqual({ quick: 2, other: 2 });
    expect((await on.purge({ keep: 2, olderThan: "108h", workflow: "quick" })).runs, "older and more").toBe(
      2,
    );
    expect(await on.ids()).toEqual(["o0", "o1", "o2", "o3", "o4", "o5", "q2", "q3", "q4", "q5"]);
    expect((await on.purge({ keep: 1 })).byWorkflow).toEqual({ quick: 3, other: 5 });
    expect(await on.ids()).toEqual(["o5", "q5"]);
    expect((await on.purge({ keep: 0 })).runs).toBe(2);
  });

  test("counts forks of evals apart for `keep`: they take no place of the runs that they judge", async () => {
    const on = place();
    const forks = { eval: "polite", variant: {}, stubs: {}, refuse: false, from: "work" };
    for (const id of ["a", "b", "c"]) await on.run("other", id);
    for (const id of ["e1", "e2", "e3"]) await on.world.run(forkForEval(on.app, "c", { ...forks, id }, null));
    await on.purge({ keep: 2 });
    expect(await on.ids()).toEqual(["b", "c", "e2", "e3"]);
  });

  test("counts all selected statuses together for `keep`", async () => {
    const on = place();
    const ask = durable("quick", (_ctx, fail: boolean) => {
      if (fail) throw new Error("no");
    });
    const app = createApp({ ...on.lab, workflows: [ask] });
    for (let n = 0; n < 6; n++) {
      await on.world.run(app.start("quick", n % 2 === 0, { id: `q${n}`, drive: false }));
      await on.world.run(app.advance(`q${n}`));
      await on.world.advance(1_000);
    }
    await on.purge({ keep: 3, status: ["completed", "failed"] });
    expect(await on.ids()).toEqual(["q3", "q4", "q5"]);
    await on.purge({ keep: 1, status: "failed" });
    expect(await on.ids()).toEqual(["q3", "q4", "q5"]);
    await on.purge({ keep: 1, status: "completed" });
    expect(await on.ids()).toEqual(["q4", "q5"]);
  });

  test.each([true, false])("selects by tags (the storage finds them: %s)", async (finds) => {
    const on = place();
    const tags = { a: { customer: "1" }, b: { customer: "2", plan: "x" }, c: {} };
    for (const [id, own] of Object.entries(tags))
      await on.world.run(quick.with(on.lab).run("a", { id, tags: own }));
    await on.world.advance(day);
    const storage = finds ? on.storage : bare(on.storage);
    const app = createApp({ ...on.lab, storage, workflows });
    const purge = (which: Record<string, string>) => on.world.run(app.purge({ olderThan: 1, tags: which }));
    expect((await purge({ customer: "2", plan: "y" })).runs).toBe(0);
    expect((await purge({ customer: "2", plan: "x" })).runs).toBe(1);
    expect((await purge({ toString: "1" })).runs).toBe(0);
    expect(await on.ids()).toEqual(["a", "c"]);
  });

  test("stops at `limit` and by `signal`, and a second call goes on", async () => {
    const on = place();
    for (let n = 0; n < 5; n++) await on.run("quick", `q${n}`, "a");
    await on.world.advance(day);
    expect(await on.purge({ olderThan: 1, limit: 2 })).toMatchObject({ runs: 2, more: true });
    expect(await on.ids()).toHaveLength(3);
    expect(await on.purge({ olderThan: 1, signal: AbortSignal.abort() })).toMatchObject({
      runs: 0,
      more: true,
    });
    expect(await on.purge({ olderThan: 1, limit: 10 })).toMatchObject({ runs: 3, more: false });
    expect(await on.purge({ olderThan: 1, limit: 0 })).toMatchObject({ runs: 0 });
  });

  test("holds a page at a time, and reports after each batch", async () => {
    const base = lab();
    const storage = countingStorage(base.storage);
    const on = place({ ...base, storage });
    await on.world.run(
      Promise.all(Array.from({ length: 1_200 }, (_, n) => quick.with(on.lab).run("a", { id: `q${n}` }))),
    );
    await on.world.advance(day);
    const pages: number[] = [];
    const list: Storage["list"] = async (query) => {
      const page = await storage.list(query);
      pages.push(page.runs.length);
      return page;
    };
    const progress: number[] = [];
    const before = { ...storage.counts };
    const app = createApp({ ...on.lab, storage: { ...storage, list }, workflows });
    const onProgress = ({ runs }: { readonly runs: number }): void => void progress.push(runs);
    expect(await on.world.run(app.purge({ olderThan: 1, onProgress }))).toMatchObject({ runs: 1_200 });
    expect(Math.max(...pages)).toBe(500);
    expect(progress).toEqual(Array.from({ length: 12 }, (_, n) => (n + 1) * 100));
    // No journal is read, and each batch asks for the children of all its runs at once.
    expect(storage.counts.reads - before.reads).toBe(0);
    expect(storage.counts.lists - before.lists).toBe(3 + 12);
    expect(await on.ids()).toEqual([]);
  });
});

describe("purge refuses", () => {
  const on = place();
  const refused = (options: unknown): Promise<unknown> => on.app.purge(options as PurgeOptions);

  test("to delete everything that has ended, unless it is said so", async () => {
    for (const options of [{}, { status: "completed" }, { workflow: "quick", dryRun: true }])
      await expect(refused(options)).rejects.toMatchObject({
        code: "invalid-options",
        message: expect.stringContaining("neither `olderThan` nor `keep`") as unknown,
      });
  });

  test("statuses of runs that have not ended", async () => {
    for (const status of ["running", "suspended", "blocked", ["completed", "running"], "done"])
      await expect(refused({ olderThan: "1d", status })).rejects.toMatchObject({ code: "invalid-options" });
  });

  test("numbers and names that make no sense", async () => {
    for (const options of [
      { keep: -1 },
      { keep: 1.5 },
      { keep: 10_001 },
      { keep: Number.NaN },
      { olderThan: "a while" },
      { olderThan: -1 },
      { olderThan: 1, limit: -1 },
      { olderThan: 1, older: 2 },
    ])
      await expect(refused(options), JSON.stringify(options)).rejects.toMatchObject({
        code: "invalid-options",
      });
  });
});

describe("children", () => {
  test("go with their parent, and theirs with them, however they ended", async () => {
    const on = place();
    await on.run("root", "r", false);
    expect(await on.ids()).toHaveLength(4);
    await on.world.advance(day);
    expect((await on.purge({ olderThan: 1, workflow: ["leaf", "branch"] })).runs, "not alone").toBe(0);
    expect(await on.purge({ olderThan: 1, dryRun: true })).toEqual({
      ...counts,
      runs: 1,
      children: 3,
      byWorkflow: { root: 1 },
    });
    expect(await on.purge({ olderThan: 1 })).toMatchObject({ runs: 1, children: 3 });
    expect(await on.ids()).toEqual([]);
  });

  test("stay while their parent runs", async () => {
    const on = place();
    await on.run("root", "r", true);
    await on.world.advance(day);
    expect(await on.purge({ olderThan: 1 })).toEqual(counts);
    expect(await on.ids()).toHaveLength(4);
    await on.world.run(on.app.resume(tokenOf(await on.app.get("r").outcome()), "yes"));
    await on.world.advance(1_000);
    expect(await on.purge({ olderThan: 1 })).toMatchObject({ runs: 1, children: 3 });
    expect(await on.ids()).toEqual([]);
  });

  test("that have not ended keep their parent", async () => {
    const on = place();
    await on.run("branch", "r", true);
    await on.world.advance(day);
    const statuses = (await on.storage.list()).runs.map(({ workflow, status }) => [workflow, status]);
    expect(statuses).toEqual([
      ["leaf", "suspended"],
      ["leaf", "completed"],
      ["branch", "suspended"],
    ]);
    // As if the parent had ended before its child.
    const ended = { status: "completed", wakeAt: null } as const;
    const list: Storage["list"] = async ({ endedBefore, status: _status, ...query } = {}) => {
      if (endedBefore === undefined) return on.storage.list(query);
      const { runs } = await on.storage.list({ workflow: "branch" });
      return { runs: runs.map((head) => ({ ...head, ...ended })), next: null };
    };
    let asked = 0;
    const deleteUnchanged = (): Promise<string[]> => {
      asked += 1;
      return Promise.resolve([]);
    };
    const app = createApp({ ...on.lab, storage: { ...bare(on.storage), list, deleteUnchanged }, workflows });
    expect(await on.world.run(app.purge({ olderThan: 1 }))).toEqual({ ...counts, left: 1 });
    expect(asked).toBe(0);
  });

  test("are not runs that were spawned: these have an age of their own", async () => {
    const on = place();
    const top = durable("top", async (ctx) => {
      await ctx.spawn(quick, "a");
      return ctx.child(leaf, false);
    });
    const app = createApp({ ...on.lab, workflows: [top, quick, leaf] });
    await on.world.run(app.start("top", undefined, { id: "top" }).then((run) => run.result()));
    await on.world.run(app.sweep());
    await on.world.advance(day);
    expect((await on.storage.list({ parent: "top" })).runs).toHaveLength(2);
    const purged = await on.world.run(app.purge({ olderThan: 1, workflow: "top" }));
    expect(purged).toMatchObject({ runs: 1, children: 1 });
    expect((await on.storage.list()).runs.map(({ workflow }) => workflow)).toEqual(["quick"]);
    expect(await on.world.run(app.purge({ olderThan: 1 }))).toMatchObject({ runs: 1 });
  });

  test("whose parent was deleted go by themselves", async () => {
    const on = place();
    await on.run("root", "r", false);
    const { runs } = await on.storage.list();
    const top = runs.find(({ runId }) => runId === "r");
    await on.storage.delete(top!.locator);
    await on.world.advance(day);
    // The branch is an orphan, and takes its own children along.
    expect(await on.purge({ olderThan: 1 })).toMatchObject({ runs: 1, children: 2 });
    expect(await on.ids()).toEqual([]);
  });
});

describe("forks", () => {
  const twice = durable("quick", async (ctx, input: string) => {
    const one = await ctx.step("one", () => `${input} 1`);
    return [one, await ctx.step("two", () => `${input} 2`)];
  });

  test("keep what they read of a run that was deleted, and it goes with the last of them", async () => {
    const on = place();
    const flow = twice.with(on.lab);
    await on.world.run(flow.run("a", { id: "parent" }));
    const { locator } = (await on.storage.list()).runs[0]!;
    await on.world.advance(day);
    const fork = await on.world.run(flow.fork("parent", { after: "one", id: "fork" }));
    expect(await on.purge({ olderThan: "1 hour" })).toMatchObject({ runs: 1 });
    expect(await on.ids()).toEqual(["fork"]);
    expect(await on.storage.read(locator)).toMatchObject({ deleted: true, length: 4 });
    expect(await on.world.run(fork.result())).toEqual(["a 1", "a 2"]);
    const again = await on.world.run(flow.fork("fork", { after: "one", id: "fork-of-fork" }));
    expect(await on.world.run(again.result())).toEqual(["a 1", "a 2"]);
    await on.world.advance(day);
    expect(await on.purge({ olderThan: "1 hour" })).toMatchObject({ runs: 2, children: 0 });
    expect(await on.storage.read(locator)).toMatchObject({ length: 0, batches: [] });
  });

  test("of a run do not go with it: they have an age of their own", async () => {
    const on = place();
    const flow = twice.with(on.lab);
    await on.world.run(flow.run("a", { id: "parent" }));
    await on.world.advance(10 * day);
    await on.world.run(flow.fork("parent", { after: "one", id: "fork" }).then((fork) => fork.result()));
    await on.world.advance(day);
    expect(await on.purge({ olderThan: "5 days" })).toMatchObject({ runs: 1, children: 0 });
    expect(await on.ids()).toEqual(["fork"]);
    expect(outputOf(await on.app.get("fork").outcome())).toEqual(["a 1", "a 2"]);
  });
});

describe("a run that changed since it was listed", () => {
  /** Lets the test in after the first list by end. */
  const meddled = (storage: Storage, meddle: () => Promise<void>, together: boolean): Storage => {
    let met = false;
    const bound = Object.fromEntries(
      (["append", "read", "readChapter", "lease", "release", "delete", "deleteUnchanged"] as const).map(
        (name) => [name, storage[name]?.bind(storage)],
      ),
    ) as unknown as Storage;
    if (!together) delete bound.deleteUnchanged;
    return {
      ...bound,
      list: async (query) => {
        const page = await storage.list(query);
        if (!met && query?.endedBefore !== undefined) {
          met = true;
          await meddle();
        }
        return page;
      },
    };
  };

  test.each([true, false])("stays (deleted together: %s)", async (together) => {
    const on = place();
    await on.run("quick", "again", "a");
    await on.run("quick", "gone", "a");
    await on.world.advance(day);
    const meddle = async (): Promise<void> => {
      await on.app.delete("again");
      await on.app.start("leaf", true, { id: "again", drive: false });
      await on.app.delete("gone");
    };
    const app = createApp({ ...on.lab, storage: meddled(on.storage, meddle, together), workflows });
    expect(await on.world.run(app.purge({ olderThan: 1 }))).toMatchObject({ runs: 0, left: 2 });
    expect(await on.ids()).toEqual(["again"]);
  });
});

test("encrypted runs are purged, and so are their children", async () => {
  const key = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
  const on = lab();
  const app = createApp({
    ...on,
    workflows,
    encryption: aesGcm({ current: "k1", keys: { k1: Uint8Array.from(Buffer.from(key, "hex")) } }),
  });
  await on.world.run(app.start("root", false, { id: "r" }).then((run) => run.result()));
  await on.world.advance(day);
  expect(await on.world.run(app.purge({ olderThan: 1 }))).toMatchObject({ runs: 1, children: 3 });
  expect((await on.storage.list()).runs).toEqual([]);
});
