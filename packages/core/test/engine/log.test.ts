import { createApp, createWorker, durable, Journal, MemoryStorage, secret, type Logger } from "@durable/core";
import { replayRun } from "@durable/core/inspect";
import { inspect } from "node:util";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { forgetSecrets } from "../../src/values/scrub.ts";
import { lab, pause, tokenOf, type Lab } from "../support/behaviour-lab.ts";

const messages = ({ world }: Lab): string[] => world.lines.map(({ message }) => message);

/** Logs before and after each call. */
const chatty = durable("chatty", async (ctx) => {
  ctx.log.info("begins");
  await ctx.step("one", ({ log }) => log.info("in one"));
  ctx.log.info("one is done");
  await ctx.parallel({
    a: async (c) => {
      await c.step("two", () => 2);
      c.log.warn("branch a is done", { n: 2 });
    },
    b: (c) => c.suspend("ask"),
  });
  ctx.log.info("answered");
  await ctx.sleep(1_000_000);
  ctx.log.info("awake");
});

const all = ["begins", "in one", "one is done", "branch a is done", "answered", "awake"];

describe("ctx.log", () => {
  test.each([0, 10])("writes each line once, with %i warm runs", async (warm) => {
    const on = lab();
    const flow = chatty.with({ ...on, warm, patience: 0 });
    const first = await on.world.run(flow.run(undefined, { id: "r" }));
    expect(messages(on)).toEqual(all.slice(0, 4));
    await on.world.run(flow.get("r").outcome());
    await on.world.run(flow.resume(tokenOf(first), 1));
    expect(messages(on)).toEqual(all.slice(0, 5));
    await on.world.advance(1_000_001);
    const app = createApp({ ...on, workflows: [chatty], patience: 0 });
    await on.world.run(app.advance("r"));
    expect(messages(on)).toEqual(all);
    await on.world.run(replayRun(app, "r"));
    expect(messages(on), "a replay for tools is silent").toEqual(all);
  });

  test("carries run, workflow and place, which fields cannot replace", async () => {
    const on = lab();
    await on.world.run(chatty.with(on).run(undefined, { id: "r" }));
    const run = { runId: "r", workflow: "chatty" };
    expect(on.world.lines).toEqual([
      { level: "info", message: "begins", fields: run },
      { level: "info", message: "in one", fields: { ...run, path: "one" } },
      { level: "info", message: "one is done", fields: run },
      { level: "warn", message: "branch a is done", fields: { ...run, n: 2, path: "parallel[a]" } },
    ]);
    const forged = durable("forged", (ctx) => ctx.log.error("x", { runId: "other" }));
    await on.world.run(forged.with(on).run(undefined, { id: "s" }));
    expect(on.world.lines.at(-1)?.fields).toMatchObject({ runId: "s" });
  });

  test("prints no secret, neither in the message nor in a field", async () => {
    onTestFinished(forgetSecrets);
    const key = secret("sk-very-secret-key", "API_KEY").reveal();
    const lines: unknown[] = [];
    const note = (...line: unknown[]): void => void lines.push(line);
    const logger: Logger = { debug: note, info: note, warn: note, error: note };
    const at = new Date(0);
    const flow = durable("tells", (ctx) =>
      ctx.log.info(`key is ${key}`, { key, deep: { list: [1, `x ${key}`], [key]: at }, at }),
    );
    const app = createApp({ workflows: [flow], storage: new MemoryStorage(), logger, bind: false });
    await app.run(flow, undefined, { id: "r" });
    const hidden = "[secret API_KEY]";
    const fields = {
      key: hidden,
      deep: { list: [1, `x ${hidden}`], [hidden]: at },
      at,
      runId: "r",
      workflow: "tells",
    };
    expect(lines).toEqual([[`key is ${hidden}`, fields]]);
  });

  test.each<[string, (key: string) => unknown]>([
    ["an error and its cause", (key) => new Error(`no ${key}`, { cause: new Error(key) })],
    ["an error with fields", (key) => Object.assign(new Error("no"), { headers: { authorization: key } })],
    [
      "an object of a class",
      (key) =>
        new (class Options {
          key = key;
        })(),
    ],
    [
      "a list that holds itself",
      (key) => {
        const list: unknown[] = [key];
        list.push(list);
        return list;
      },
    ],
    ["a deep object", (key) => ({ a: { b: { c: { d: { e: { f: [[[key]]] } } } } } })],
    ["a text of JSON", (key) => JSON.stringify({ key })],
    [
      "a map",
      (key) =>
        new Map<unknown, unknown>([
          ["key", { key }],
          [key, 1],
        ]),
    ],
    ["a set", (key) => new Set([[key]])],
    ["a URL", (key) => new URL(`https://provider.example/?key=${key}`)],
    ["parameters of a URL", (key) => new URLSearchParams({ key })],
  ])("prints no secret in %s", async (_, make) => {
    onTestFinished(forgetSecrets);
    const key = secret("sk-very-secret-key", "API_KEY").reveal();
    const lines: string[] = [];
    const note = (...line: unknown[]): void =>
      void lines.push(inspect(line, { depth: 20, showHidden: true }));
    const logger: Logger = { debug: note, info: note, warn: note, error: note };
    const flow = durable("tells", (ctx) => ctx.log.info("made", { value: make(key) }));
    const app = createApp({ workflows: [flow], storage: new MemoryStorage(), logger, bind: false });
    await app.run(flow, undefined, { id: "r" });
    expect(lines).toHaveLength(1);
    expect(lines[0]).not.toContain("very-secret");
  });

  test("is silent in a fork up to the latest work that it keeps", async () => {
    const on = lab();
    const flow = durable("f", async (ctx) => {
      ctx.log.info("one");
      const n = await ctx.step("n", () => 1);
      ctx.log.info(`two ${n}`);
      await ctx.step("m", () => 1);
      ctx.log.info("three");
    }).with(on);
    await on.world.run(flow.run(undefined, { id: "r" }));
    await on.world.run((await flow.fork("r", { from: "m" })).result());
    expect(messages(on)).toEqual(["one", "two 1", "three", "two 1", "three"]);
    await on.world.run((await flow.fork("r", { after: "n", edit: { n: 5 } })).result());
    expect(messages(on).slice(5)).toEqual(["two 5", "three"]);
  });

  test("after a crash, lines since the latest entry are written again, and no others", async () => {
    const on = lab();
    let crashes = true;
    const flow = durable("f", async (ctx) => {
      ctx.log.info("one");
      await ctx.step("a", () => 1);
      ctx.log.info("two");
      await ctx.step("b", () => (crashes ? pause(on.world, 1e9) : undefined));
    });
    void flow.with({ ...on, lease: 1_000 }).run(undefined, { id: "r" });
    await on.world.advance(100);
    expect(messages(on)).toEqual(["one", "two"]);
    crashes = false;
    // The journal as another process finds it.
    const { storage } = on;
    const { runs } = await storage.list();
    await storage.release(runs[0]?.locator ?? "", "no driver");
    const other = lab();
    const copy = other.storage;
    const { batches } = await storage.read(runs[0]?.locator ?? "");
    for (const [position, batch] of batches.entries())
      await copy.append({ locator: runs[0]!.locator, position, batch, head: runs[0]!, lease: null });
    const app = createApp({ ...other, workflows: [flow] });
    await other.world.run(app.advance("r"));
    expect(messages(other)).toEqual(["two"]);
  });
});

/** A logger that keeps lines. */
function keeping(): { readonly logger: Logger; readonly lines: unknown[][] } {
  const lines: unknown[][] = [];
  const keep =
    (level: string) =>
    (...line: unknown[]): void =>
      void lines.push([level, ...line]);
  return {
    lines,
    logger: { debug: keep("debug"), info: keep("info"), warn: keep("warn"), error: keep("error") },
  };
}

describe("the logger", () => {
  test("gets lines and warnings", async () => {
    const on = lab();
    const { logger, lines } = keeping();
    const flow = durable("f", async (ctx) => {
      ctx.log.debug("one", { n: 1 });
      void ctx.step(
        "lost",
        () => {
          throw new Error("never looked at");
        },
        { retry: false },
      );
      await ctx.step("a", () => 1);
    }).with({ ...on, logger });
    await on.world.run(flow.run(undefined, { id: "r" }));
    expect(lines).toEqual([
      ["debug", "one", { n: 1, runId: "r", workflow: "f" }],
      ["warn", expect.stringMatching(/^durable: run r ended, but its code never looked at/), {}],
    ]);
    expect(on.world.warnings).toEqual([]);
    expect(on.world.lines).toEqual([]);
  });

  test.each([
    [
      "throws",
      (): never => {
        throw new Error("full disk");
      },
    ],
    ["rejects", (): Promise<never> => Promise.reject(new Error("full disk"))],
  ] as [string, () => unknown][])("that %s does not affect the run", async (_, fails) => {
    const on = lab();
    const logger = { debug: fails, info: fails, warn: fails, error: fails } as Logger;
    const flow = durable("f", async (ctx) => {
      ctx.log.info("one");
      return ctx.step("a", ({ log }) => (log.error("two"), 1));
    }).with({ ...on, logger });
    expect(await on.world.run(flow.run())).toMatchObject({ status: "completed", output: 1 });
  });

  test("of a worker gets its warnings", async () => {
    const on = lab();
    const { logger, lines } = keeping();
    const flow = durable("f", () => 1);
    await flow.with(on).start(undefined, { id: "r", drive: false });
    const app = createApp({ ...on, workflows: [flow] });
    const worker = createWorker(app, {
      logger,
      onStop: () => {
        throw new Error("no");
      },
    });
    await on.world.advance(10);
    await on.world.run(worker.stop());
    expect(lines).toEqual([["warn", "durable: onStop threw for run r: Error: no", {}]]);
  });

  test("is the console by default, also in a journal without a workflow", async () => {
    const { storage, secret, ...rest } = lab();
    const world = { ...rest.world, log: undefined };
    const info = vi.spyOn(console, "info").mockImplementation(() => {});
    const error = vi.spyOn(console, "error").mockImplementation(() => {
      throw new Error("broken pipe");
    });
    try {
      const flow = durable("f", (ctx) => ctx.log.info("hello")).with({ storage, secret, world });
      await flow.run(undefined, { id: "r" });
      const journal = await Journal.open("j", { storage, world });
      await journal.record("k", ({ log }) => {
        log.error("lost");
        log.info("there");
      });
      expect(info.mock.calls).toEqual([
        ["hello", { runId: "r", workflow: "f" }],
        ["there", { runId: "j", workflow: "", path: "k" }],
      ]);
    } finally {
      info.mockRestore();
      error.mockRestore();
    }
  });
});
