/** One app: the verbs of a workflow act on the app that has it, and programs with two hosts fail loudly. See binding.ts. */

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApp, createWorker, durable, DurableError, Journal, MemoryStorage } from "@durable/core";
import { aesGcm } from "@durable/core/encryption";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { createHandler } from "../../http/src/index.ts";
import { failureOf, lab, pause, secret } from "./support/behaviour-lab.ts";

const flowOf = (name = "f") => durable(name, async (ctx, who: string) => ctx.step("hi", () => `hi ${who}`));
const asking = () => durable("asks", async (ctx) => ctx.suspend<string>("ok"));
const cipher = () => aesGcm({ current: "a", keys: { a: Uint8Array.from({ length: 32 }, (_, i) => i * 7) } });

/** The default storage of these tests is in a folder of its own. */
let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "durable-"));
  vi.stubEnv("DURABLE_DIR", folder);
  onTestFinished(() => {
    vi.unstubAllEnvs();
    // An open SQLite file on Windows cannot be removed; the system cleans its folder of temporary files.
    if (process.platform !== "win32") rmSync(folder, { recursive: true, force: true });
  });
});
const usedDefault = (): boolean => existsSync(join(folder, "journal.db"));

describe("a workflow that an app has (binding.2)", () => {
  test("stores its runs where the app does", async () => {
    const flow = flowOf();
    const storage = new MemoryStorage();
    const app = createApp({ workflows: [flow], storage, secret });
    await flow.run("a", { id: "a" });
    await (await flow.start("b", { id: "b" })).result();
    await (await flow.fork("a", { id: "c", from: "hi" })).result();
    expect((await app.list()).runs.map(({ runId }) => runId).toSorted()).toEqual(["a", "b", "c"]);
    expect((await flow.list()).runs).toHaveLength(3);
    expect(await flow.get("c").outcome()).toMatchObject({ status: "completed", output: "hi a" });
    expect(usedDefault()).toBe(false);
  });

  test("is answered and cancelled in the app", async () => {
    const flow = asking();
    const app = createApp({ workflows: [flow], ...lab(), world: undefined });
    const run = await flow.run(undefined, { id: "a" });
    if (run.status !== "suspended") throw new Error(run.status);
    expect(await flow.resume(run.waiting[0]!.token, "yes")).toMatchObject({ status: "accepted" });
    expect(await app.get("a").outcome()).toMatchObject({ output: "yes" });
    await flow.run(undefined, { id: "b" });
    await flow.cancel("b");
    expect(await app.get("b").outcome()).toMatchObject({ status: "cancelled" });
  });

  test("does not end or fork a run of another workflow of the app", async () => {
    const [flow, other] = [flowOf(), asking()];
    createApp({ workflows: [flow, other], storage: new MemoryStorage(), secret });
    await other.run(undefined, { id: "a" });
    expect(await failureOf(flow.cancel("a"))).toMatchObject({ code: "unknown-workflow" });
    expect(await failureOf(flow.fork("a", { from: "hi" }))).toMatchObject({ code: "unknown-workflow" });
    expect(await other.get("a").outcome()).toMatchObject({ status: "suspended" });
  });

  test("is encrypted as the app says", async () => {
    const flow = flowOf();
    const storage = new MemoryStorage();
    const app = createApp({ workflows: [flow], storage, secret, encryption: cipher() });
    await flow.run("4111", { id: "a" });
    expect(JSON.stringify(await storage.read("a/1", 0))).not.toContain("4111");
    expect(await app.advance("a")).toMatchObject({ status: "completed", output: "hi 4111" });
  });

  test("is under the limits of the app", async () => {
    const flow = durable("f", (ctx) => ctx.step("call", () => 1, { quota: "openai" }));
    createApp({ workflows: [flow], storage: new MemoryStorage(), quotas: { openai: { requests: 10 } } });
    expect(await flow.run()).toMatchObject({ status: "completed", output: 1 });
  });

  test("calls the hooks of the app", async () => {
    const flow = flowOf();
    const seen: string[] = [];
    const hooks = { onEnd: ({ runId }: { runId: string }) => void seen.push(runId) };
    createApp({ workflows: [flow], storage: new MemoryStorage(), hooks });
    await flow.run("a", { id: "a" });
    expect(seen).toEqual(["a"]);
  });

  test("is stopped by a pause of the app", async () => {
    const flow = flowOf();
    const app = createApp({ workflows: [flow], storage: new MemoryStorage() });
    await app.pause("f", { reason: "too slow" });
    expect(await flow.run("a", { id: "a" })).toMatchObject({ status: "paused" });
    await app.unpause("f");
    expect(await app.advance("a")).toMatchObject({ status: "completed" });
  });

  test("runs children and spawned runs in the app", async () => {
    const child = flowOf("child");
    const flow = durable("f", async (ctx) => {
      await ctx.spawn(child, "spawned", { id: "s" });
      return ctx.child(child, "waited for");
    });
    const app = createApp({ workflows: [flow, child], storage: new MemoryStorage(), secret });
    expect(await flow.run(undefined, { id: "a" })).toMatchObject({ output: "hi waited for" });
    expect(await child.get("s").result()).toBe("hi spawned");
    expect((await app.list()).runs).toHaveLength(3);
    expect(usedDefault()).toBe(false);
  });

  test("shares its binding with what with() makes of it, either way (binding.1)", async () => {
    const flow = flowOf();
    const app = createApp({ workflows: [flow.with({ version: "2" })], storage: new MemoryStorage() });
    await flow.run("a", { id: "a" });
    await flow.with({ version: "3" }).run("b", { id: "b" });
    expect((await app.get("a").entries())[0]).toMatchObject({ version: null });
    expect((await app.get("b").entries())[0]).toMatchObject({ version: "3" });
  });
});

describe("without an app, or with several", () => {
  test("a workflow without an app uses the default storage", async () => {
    const flow = flowOf();
    expect(await flow.run("a")).toMatchObject({ output: "hi a" });
    expect(usedDefault()).toBe(true);
  });

  test("several apps make the verbs of a workflow ambiguous, and those of the apps are not (binding.2)", async () => {
    const flow = flowOf();
    const [one, two] = [1, 2].map(() => createApp({ workflows: [flow], storage: new MemoryStorage() }));
    for (const verb of [
      () => flow.run("a"),
      () => flow.start("a"),
      () => flow.resume("token", 1),
      () => flow.fork("a", { from: "hi" }),
      () => flow.list(),
      () => flow.cancel("a"),
      async () => flow.get("a"),
    ]) {
      const { code, message } = await refusalOf(verb());
      expect(code).toBe("ambiguous-app");
      for (const way of ["app.run(flow", "app.start(flow", "app.fork(flow", "bind: false", "app.close()"])
        expect(message).toContain(way);
    }
    expect(await one?.run(flow, "a", { id: "a" })).toMatchObject({ output: "hi a" });
    expect(await (await two?.start(flow, "b", { id: "b" }))?.result()).toBe("hi b");
    expect(await (await one?.fork(flow, "a", { id: "c", from: "hi" }))?.result()).toBe("hi a");
    expect((await one?.list())?.runs).toHaveLength(2);
    await two?.close();
    await flow.run("d", { id: "d" });
    expect((await one?.list())?.runs).toHaveLength(3);
    expect(usedDefault()).toBe(false);
  });

  test("bind: false leaves the workflow as it is", async () => {
    const flow = flowOf();
    const [mine, tool] = [new MemoryStorage(), new MemoryStorage()];
    createApp({ workflows: [flow], storage: mine });
    const app = createApp({ workflows: [flow], storage: tool, bind: false });
    await flow.run("a", { id: "a" });
    await app.run(flow, "b", { id: "b" });
    await app.run("f", "c", { id: "c" });
    expect((await mine.list({ limit: 9 })).runs).toHaveLength(1);
    expect((await tool.list({ limit: 9 })).runs).toHaveLength(2);
  });

  test("an app refuses what it does not have", async () => {
    const app = createApp({ workflows: [flowOf()], storage: new MemoryStorage() });
    const stranger = flowOf("stranger");
    for (const attempt of [
      app.run(stranger, "a"),
      app.start(stranger, "a"),
      app.fork(stranger, "a", { from: "hi" }),
    ])
      expect(await failureOf(attempt)).toMatchObject({ code: "unknown-workflow" });
    await app.run("f", "a", { id: "a" });
    const asks = asking();
    const both = createApp({ workflows: [flowOf(), asks], storage: new MemoryStorage(), secret });
    await both.run(asks, undefined, { id: "b" });
    expect(await failureOf(both.fork(flowOf(), "b", { from: "hi" }))).toMatchObject({
      code: "unknown-workflow",
    });
  });
});

describe("app.close()", () => {
  test("lets the next app of a hot reload have the workflows", async () => {
    const flow = flowOf();
    const storage = new MemoryStorage();
    for (const id of ["a", "b", "c"]) {
      const app = createApp({ workflows: [flow], storage });
      await flow.run(id, { id });
      await app.close();
      await app.close();
    }
    expect((await storage.list({ limit: 9 })).runs).toHaveLength(3);
  });

  const stepsOf = ({ world }: ReturnType<typeof lab>, log: string[]) =>
    durable("steps", async (ctx) => {
      for (const name of ["a", "b"])
        await ctx.step(name, async () => {
          log.push(`${name} begins`);
          await pause(world, 5_000);
          log.push(`${name} ends`);
        });
    });

  test("with a drain, hands over what the process drives: the step under way ends, and no other begins", async () => {
    const on = lab();
    const { world } = on;
    const log: string[] = [];
    const app = createApp({ ...on, workflows: [stepsOf(on, log)] });
    await app.start("steps", undefined, { id: "r" });
    await world.advance(1_000);
    await world.run(app.close({ drain: "30s" }));
    expect(log).toEqual(["a begins", "a ends"]);
    // The lease is given back: the next process goes on at once.
    const next = createApp({ ...on, workflows: [stepsOf(on, log)] });
    const began = world.now();
    expect(await world.run(next.advance("r"))).toMatchObject({ status: "completed" });
    expect(world.now() - began).toBeLessThan(6_000);
    expect(log).toEqual(["a begins", "a ends", "b begins", "b ends"]);
    expect(world.warnings).toEqual([]);
  });

  test("without one, runs go on; a drain that is too short names them", async () => {
    const on = lab();
    const { world } = on;
    const log: string[] = [];
    const app = createApp({ ...on, workflows: [stepsOf(on, log)] });
    await app.start("steps", undefined, { id: "r" });
    await world.advance(6_000);
    await world.run(app.close());
    await world.run(app.close({ drain: "1s" }));
    expect(log).toEqual(["a begins", "a ends", "b begins"]);
    expect(world.warnings).toEqual([
      "the app was closed with steps under way; they will run again elsewhere: r",
    ]);
    // @ts-expect-error -- a misspelt option
    await expect(app.close({ drains: "1s" })).rejects.toThrow("drain");
  });

  test("forgets parked runs, and leaves the storage open", async () => {
    const calls: string[] = [];
    const flow = (name: string) =>
      durable("asks", async (ctx) => {
        calls.push(name);
        return ctx.suspend<string>("ok");
      });
    const storage = new MemoryStorage();
    const [old, fresh] = [flow("old"), flow("fresh")];
    const first = createApp({ workflows: [old], storage, secret });
    await old.run(undefined, { id: "a" });
    await first.close();
    await first.run(old, undefined, { id: "b" });
    const { token } = await waitOf(first.get("b"));
    const app = createApp({ workflows: [fresh], storage, secret });
    expect(await app.resume(token, "yes")).toMatchObject({ outcome: { output: "yes" } });
    expect(await first.resume((await waitOf(app.get("a"))).token, "no")).toMatchObject({
      status: "accepted",
    });
    // A run that stays in memory is not called again.
    expect(calls).toEqual(["old", "old", "fresh", "old"]);
  });

  test("the default app says once that it is used after the app of a workflow was closed", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    onTestFinished(() => warn.mockRestore());
    const flow = flowOf();
    await createApp({ workflows: [flow], storage: new MemoryStorage() }).close();
    await flow.run("a");
    await flow.run("b");
    expect(warn.mock.calls.flat().filter((line) => String(line).includes("default app"))).toHaveLength(1);
  });

  test("so it does beside a worker whose app has not bound the workflow", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    onTestFinished(() => warn.mockRestore());
    const flow = flowOf();
    const worker = createWorker(createApp({ workflows: [flow], storage: new MemoryStorage(), bind: false }));
    await flow.run("a");
    await worker.stop();
    expect(warn.mock.calls.flat().join()).toContain("app.start(flow, input)");
  });

  test("and beside a handler, once", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    onTestFinished(() => warn.mockRestore());
    const flow = flowOf();
    createHandler(createApp({ workflows: [flow], storage: new MemoryStorage(), bind: false }));
    await flow.run("a");
    await flow.run("b");
    expect(warn.mock.calls.flat().filter((line) => String(line).includes("default app"))).toHaveLength(1);
  });

  test("and is silent where no app is expected", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    onTestFinished(() => warn.mockRestore());
    await flowOf().run("a");
    expect(warn).not.toHaveBeenCalled();
  });
});

describe("options of a host for one workflow", () => {
  const world = lab().world;
  test.each([
    ["storage", { storage: new MemoryStorage() }],
    ["secret", { secret }],
    ["encryption", { encryption: cipher() }],
    ["patience", { patience: 0 }],
    ["linger", { linger: 0 }],
    ["lease", { lease: "1 minute" }],
    ["waitUntil", { waitUntil: () => {} }],
    ["warm", { warm: 0 }],
    ["quotas", { quotas: {} }],
    ["hooks", { hooks: {} }],
    ["logger", { logger: console }],
    ["world", { world }],
  ] as const)("%s makes an app of its own, which createApp refuses (binding.3)", async (name, option) => {
    const [flow, fine] = [flowOf(), flowOf("fine")];
    for (const one of [
      durable("f", () => 1, option),
      flow.with(option),
      flow.with(option).with({ version: "2" }),
    ]) {
      const attempt = async () => createApp({ workflows: [fine, one], storage: new MemoryStorage() });
      const error = await refusalOf(attempt());
      expect(error).toMatchObject({ code: "invalid-options" });
      expect(error.message).toMatch(new RegExp(`"f", which has ${name}.*to createApp, or pass bind: false`));
      createApp({ workflows: [one], storage: new MemoryStorage(), bind: false });
    }
    // app.1: the refusal has bound nothing.
    await fine.run("a");
    expect(usedDefault()).toBe(true);
  });

  test("a definition has no app of its own", () => {
    const flow = durable("f", () => 1, { version: "1", retry: false, storage: undefined }).with({
      timeout: "1 minute",
      deadline: "1 day",
      onUncertain: "suspend",
    });
    const app = createApp({ workflows: [flow], storage: new MemoryStorage() });
    expect(app.workflows).toEqual(["f"]);
  });

  test("its verbs act on its own app, also when another app has it", async () => {
    const storage = new MemoryStorage();
    const flow = flowOf().with({ storage });
    createApp({ workflows: [flow], storage: new MemoryStorage(), bind: false });
    await flow.run("a", { id: "a" });
    expect((await storage.list({ limit: 9 })).runs).toHaveLength(1);
  });

  test.each([
    ["storage", { storage: new MemoryStorage() }],
    ["encryption", { encryption: cipher() }],
  ] as const)("a child or spawned run with another %s is refused", async (name, option) => {
    const child = flowOf("child").with(option);
    const storage = new MemoryStorage();
    const flow = durable("f", async (ctx, kind: "child" | "spawn") =>
      kind === "child" ? ctx.child(child, "a") : ctx.spawn(child, "a"),
    );
    createApp({ workflows: [flow], storage });
    for (const kind of ["child", "spawn"] as const) {
      const outcome = await flow.run(kind);
      expect(outcome).toMatchObject({ status: "failed", error: { code: "invalid-options" } });
      expect(outcome).toHaveProperty(
        "error.message",
        expect.stringContaining(`another ${name} than its parent`),
      );
    }
    expect((await storage.list({ limit: 9 })).runs).toHaveLength(2);
  });

  test("a child with the storage of its parent is not refused", async () => {
    const storage = new MemoryStorage();
    const child = flowOf("child").with({ storage });
    const flow = durable("f", (ctx) => ctx.child(child, "a"), { storage });
    expect(await flow.run()).toMatchObject({ output: "hi a" });
  });
});

describe("an app that comes after the first run (binding.4)", () => {
  test.each([
    ["storage", () => ({ storage: new MemoryStorage() })],
    ["encryption", () => ({ encryption: cipher() })],
  ] as const)("is refused with another %s", async (_, options) => {
    const flow = flowOf();
    await flow.run("a");
    const error = await refusalOf((async () => createApp({ workflows: [flow], ...options() }))());
    expect(error).toMatchObject({ code: "invalid-options" });
    expect(error.message).toContain("before the first run");
    createApp({ workflows: [flow], ...options(), bind: false });
  });

  test("is fine on the same storage", async () => {
    const flow = flowOf();
    await flow.run("a", { id: "a" });
    const app = createApp({ workflows: [flow], patience: 0 });
    expect(await app.get("a").outcome()).toMatchObject({ output: "hi a" });
    await app.close();
  });
});

describe("Journal.open with an app", () => {
  test("uses its storage, encryption and clock", async () => {
    const { world, storage } = lab();
    const app = createApp({ workflows: [], storage, secret, world, encryption: cipher() });
    const journal = await world.run(Journal.open("j", { app }));
    await world.run(journal.record("card", () => "4111"));
    expect(JSON.stringify(await storage.read("j/1", 0))).not.toContain("4111");
    expect(journal.entries()[0]?.at).toBe(world.now());
    expect(await world.run(app.get("j").entries())).toHaveLength(2);
  });

  test("refuses a second storage, and what is not an app", async () => {
    const app = createApp({ workflows: [], storage: new MemoryStorage() });
    for (const options of [{ app, storage: new MemoryStorage() }, { app: { world: app.world } }])
      expect(await failureOf(Journal.open("j", options))).toMatchObject({ code: "invalid-options" });
  });
});

async function refusalOf(work: Promise<unknown>): Promise<DurableError> {
  return (await failureOf(work)) as DurableError;
}

async function waitOf(run: { outcome(): Promise<{ readonly status: string }> }): Promise<{ token: string }> {
  const outcome = (await run.outcome()) as { waiting?: readonly { token: string }[] };
  const [wait] = outcome.waiting ?? [];
  if (wait === undefined) throw new DurableError("not-found", "no wait");
  return wait;
}
