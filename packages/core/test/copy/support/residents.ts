/** Runs of every kind that wait for something, and what each of them must give once it gets it. */

import {
  createApp,
  durable,
  type App,
  type Outcome,
  type Run,
  type Storage,
  type World,
} from "@durable/core";
import type { HostOptions } from "@durable/core/types";
import { systemWorld } from "@durable/core/storage";
import { aesGcm } from "@durable/core/encryption";
import { secret, tokenOf } from "../../support/behaviour-lab.ts";

const key = Uint8Array.from({ length: 32 }, (_, n) => (n * 73 + 11) % 256);
/** Larger than what is written inline, so that it is kept as blobs. */
const large = (name: string): string => `${name} and many more words `.repeat(2_000);

/** The system's world with a clock that can be moved on, because object stores and files need real time. */
export interface TestWorld extends World {
  skip(ms: number): void;
}

export function testWorld(): TestWorld {
  let skipped = 0;
  return {
    ...systemWorld,
    now: () => systemWorld.now() + skipped,
    skip: (ms) => void (skipped += ms),
  };
}

/** Counts how often each body ran: a recorded step must not run again after a move. */
export const effects: string[] = [];
const did =
  <T>(name: string, value: T) =>
  (): T => {
    effects.push(name);
    return value;
  };

const asks = durable("asks", async (ctx, n: number) => {
  const plan = await ctx.step("plan", did("plan", large(`plan ${n}`)));
  const answer = await ctx.suspend<string>("approve");
  const after = await ctx.step("after", () => `${answer} ${plan.length}`);
  return `${n} ${after}`;
});

const sleeps = durable("sleeps", async (ctx) => {
  await ctx.step("before", did("before", 1));
  await ctx.sleep("3 days");
  return ctx.step("late", () => "woken");
});

const pupil = durable("pupil", async (ctx, name: string) => `${name} ${await ctx.suspend<string>("ask")}`);
const teacher = durable("teacher", async (ctx) => {
  const names = await ctx.step("names", did("names", ["ann", "bob"]));
  return ctx.map(names, (c, name) => c.child(pupil, name), { key: (name) => name });
});

const talks = durable("talks", async (ctx) => {
  await ctx.stream("words", did("words", ["one", "two", { three: 3 }]));
  return ctx.suspend<string>("heard");
});

const chats = durable("chats", async (ctx, turns: readonly string[]): Promise<string> => {
  const said = await ctx.step("say", did(`say ${turns.length}`, large(`turn ${turns.length}`)));
  const answer = await ctx.suspend<string>("next");
  return answer === "end" ? `${turns.length} ${said.length}` : ctx.continueAs([...turns, answer, said]);
});

const workflows = [asks, sleeps, pupil, teacher, talks, chats] as const;

export interface Resident {
  readonly id: string;
  readonly tokens: readonly string[];
  readonly answer: string;
  readonly expected: unknown;
}

export const sealed = { encryption: aesGcm({ current: "k1", keys: { k1: key } }) };

export function appAt(storage: Storage, world: TestWorld, more: HostOptions = {}): App {
  return createApp({ storage, world, secret, workflows: [...workflows], ...more });
}

const waitingOf = (outcome: Outcome<unknown>): string[] =>
  outcome.status === "suspended" ? outcome.waiting.map(({ token }) => token) : [];

/** A fork is driven in the background until it waits. */
async function parked(run: Run): Promise<Outcome<unknown>> {
  for (;;) {
    const outcome = await run.outcome();
    if (outcome.status !== "running") return outcome;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Fills a storage with runs that wait: for answers, time, children; forks, chapters, streams, and ended ones. */
export async function moveIn(
  storage: Storage,
  world: TestWorld,
  more: HostOptions = {},
): Promise<Resident[]> {
  const host = { storage, world, secret, patience: 0, ...more };
  const residents: Resident[] = [];
  const wait = (id: string, outcome: Outcome<unknown>, answer: string, expected: unknown): void =>
    void residents.push({ id, tokens: waitingOf(outcome), answer, expected });
  const ask = asks.with(host);
  const size = large("plan 1").length;

  wait("asks", await ask.run(1, { id: "asks" }), "yes", `1 yes ${size}`);
  wait("sleeps", await sleeps.with(host).run(undefined, { id: "sleeps" }), "", "woken");
  wait("teacher", await teacher.with(host).run(undefined, { id: "teacher" }), "hi", ["ann hi", "bob hi"]);
  wait("talks", await talks.with(host).run(undefined, { id: "talks" }), "loud", "loud");

  await ask.run(1, { id: "parent" });
  const fork = await ask.fork("parent", { after: "plan", id: "fork", label: "a fork" });
  wait("fork", await parked(fork), "maybe", `1 maybe ${size}`);
  const second = await ask.fork("fork", { edit: { plan: "short" }, id: "fork-of-fork" });
  wait("fork-of-fork", await parked(second), "so", "1 so 5");
  // Its batches stay, because the forks read them.
  await storage.delete((await ask.list({})).runs.find(({ runId }) => runId === "parent")?.locator ?? "");

  const chat = chats.with(host);
  for (const [id, drop] of [
    ["chat", 0],
    ["dropped-chat", 1],
  ] as const) {
    let outcome = await chat.run([], { id });
    for (const answer of ["a", "b"]) outcome = (await chat.resume(tokenOf(outcome), answer)).outcome!;
    wait(id, outcome, "end", `4 ${large("turn 4").length}`);
    const { locator, chapter = 0 } = (await chat.list({})).runs.find(({ runId }) => runId === id) ?? {
      locator: "",
    };
    if (drop > 0) await storage.dropChapters?.(locator, chapter);
  }

  const done = await ask.run(2, { id: "done" });
  await ask.resume(tokenOf(done), "done");
  await ask.run(3, { id: "cancelled" });
  await ask.cancel("cancelled");
  return residents;
}

/** Gives every resident what it waits for; what became of each, and of each that was expected. */
export async function finish(
  residents: readonly Resident[],
  storage: Storage,
  world: TestWorld,
  more: HostOptions = {},
): Promise<{ readonly found: Record<string, unknown>; readonly expected: Record<string, unknown> }> {
  const app = appAt(storage, world, { patience: 0, ...more });
  const found: Record<string, unknown> = {};
  const expected: Record<string, unknown> = {};
  world.skip(4 * 24 * 3_600_000);
  for (const { id, tokens, answer, expected: output } of residents) {
    for (const token of tokens) {
      const { status } = await app.resume(token, answer);
      if (status !== "accepted") found[`${id} ${token}`] = status;
    }
    const outcome = await app.advance(id);
    // The end of a child wakes its parent, which may be under way already.
    const running = outcome.status === "running";
    found[id] = running
      ? await app.get(id).result({ wait: true })
      : outcome.status === "completed"
        ? outcome.output
        : outcome;
    expected[id] = output;
  }
  return { found, expected };
}

/** The entries of every run that an app finds, by id. */
export async function entriesOf(
  storage: Storage,
  world: TestWorld,
  more: HostOptions = {},
): Promise<unknown> {
  const app = appAt(storage, world, more);
  const { runs } = await app.list({});
  const entries = runs.map(async ({ runId }) => [runId, await app.get(runId).entries()] as const);
  return Object.fromEntries((await Promise.all(entries)).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
