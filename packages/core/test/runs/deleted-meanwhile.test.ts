/** Verbs on a run that is deleted before any of their operations on the storage: `not-found` by id, `unknown` by token. */

import { createApp, durable, DurableError, FatalError, type App, type Storage } from "@durable/core";
import { describe, expect, inject, test } from "vitest";
import { locatorOf } from "../../src/journal/keys.ts";
import { lab, sqliteLab, tokenOf, type Lab } from "../support/behaviour-lab.ts";

const flow = durable("flow", async (ctx, input: unknown) => {
  await ctx.step("a", () => 1);
  if (input === "fails") await ctx.step("b", () => Promise.reject(new FatalError("x")));
  await ctx.receive("mail", { timeout: "1h" }).catch(() => null);
  return ctx.suspend<string>("ok");
});

type Verb = (app: App, token: string) => Promise<unknown>;

const byId: Record<string, Verb> = {
  outcome: (app) => app.get("r").outcome(),
  entries: (app) => app.get("r").entries(),
  result: (app) => app.get("r").result(),
  pause: (app) => app.get("r").pause({ reason: "x" }),
  unpause: (app) => app.get("r").unpause({ drive: false }),
  cancel: (app) => app.get("r").cancel({ reason: "x" }),
  "app.cancel": (app) => app.cancel("r"),
  retry: (app) => app.get("r").retry({ drive: false }),
  fork: (app) => app.get("r").fork({ from: "a" }),
  plan: (app) => app.get("r").plan({ from: "a" }),
  advance: (app) => app.advance("r", { patience: 0 }),
  delete: (app) => app.delete("r"),
  send: (app) => app.send("r", "mail", "hello"),
};

const byToken: Record<string, Verb> = {
  resume: (app, token) => app.resume(token, "yes"),
  record: (app, token) => app.resume(token, "yes", { drive: false }),
};

/** How a run goes away: alone, or with a fork that reads it, or to make place for another of its id. */
const ways = ["deleted", "deleted, and read by a fork", "deleted, and its id is used again"] as const;

/** Calls `then` before the operation with this number, from 1 on. */
function before(storage: Storage, at: number, then: () => Promise<unknown>) {
  let count = 0;
  const names = new Set(["append", "read", "readChapter", "lease", "release", "list", "note"]);
  const wrapped = new Proxy(storage, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      const call = (...given: unknown[]): unknown => Reflect.apply(member, target, given);
      if (!names.has(String(name))) return call;
      return async (...given: unknown[]) => {
        if (++count === at) await then();
        return call(...given);
      };
    },
  });
  return { storage: wrapped, reached: () => count >= at };
}

interface Tried {
  readonly reached: boolean;
  readonly code: string;
  readonly status: string | undefined;
}

async function tried(
  on: Lab,
  { name, verb, way }: { readonly name: string; readonly verb: Verb; readonly way: (typeof ways)[number] },
  at: number,
): Promise<Tried> {
  const open = (storage = on.storage): App => createApp({ ...on, storage, workflows: [flow] });
  const app = open();
  const input = name === "retry" ? "fails" : "waits";
  const { status } = await on.world.run(flow.with(on).run(input, { id: "r" }));
  await on.world.advance(3_600_000);
  const token = status === "failed" ? "" : tokenOf(await on.world.run(app.advance("r", { patience: 0 })));
  if (name === "unpause") await app.get("r").pause();
  if (way === "deleted, and read by a fork") await app.get("r").fork({ from: "a", id: "f" });
  const remove = async (): Promise<void> => {
    await on.storage.delete(locatorOf("r"));
    if (way !== "deleted, and its id is used again") return;
    await on.world.advance(1_000);
    await open().start("flow", "another", { id: "r", drive: false });
  };
  const { storage, reached } = before(on.storage, at, remove);
  try {
    const result = await on.world.run(verb(open(storage), token));
    return { reached: reached(), code: "", status: (result as { status?: string } | undefined)?.status };
  } catch (error) {
    return {
      reached: reached(),
      code: DurableError.is(error) ? error.code : String(error),
      status: undefined,
    };
  }
}

describe.each([
  ["memory", lab],
  ["SQLite", sqliteLab],
])("%s", (name, labOf) => {
  // All ways in memory; on a disk one of them here, and all in `npm run test:full`.
  describe.each(inject("full") || name === "memory" ? ways : ways.slice(0, 1))("%s", (way) => {
    const walk = async (name: string, verb: Verb): Promise<Tried[]> => {
      const all: Tried[] = [];
      for (let at = 1; ; at++) {
        const one = await tried(labOf(), { name, verb, way }, at);
        if (!one.reached) return all;
        all.push(one);
      }
    };

    test.each(Object.entries(byId))("%s", async (name, verb) => {
      const all = await walk(name, verb);
      expect(all.length).toBeGreaterThan(0);
      // The id may be that of another run, which is not in a state for the verb, or is read in the middle of one.
      const others =
        way === "deleted, and its id is used again"
          ? ["retry-refused", "unknown-step", "storage-failed"]
          : [];
      const usual = ["", "not-found", ...(name === "result" ? ["suspended"] : [])];
      for (const { code } of all) expect([...usual, ...others]).toContain(code);
      for (const { status } of all) expect(status).not.toBe("blocked");
    });

    test.each(Object.entries(byToken))("%s", async (name, verb) => {
      const all = await walk(name, verb);
      expect(all.length).toBeGreaterThan(0);
      for (const { code, status } of all) {
        expect(code).toBe("");
        expect(["accepted", "unknown"]).toContain(status);
      }
    });
  });
});
