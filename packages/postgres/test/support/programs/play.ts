/**
 * Plays a program on a storage, one operation after the other in virtual time, and notes what its user sees: replies, lists,
 * outcomes, entries, schedules.
 */

import { createApp, DurableError, type App, type Storage } from "@durable/core";
import type { Entry } from "@durable/core/types";
import { virtualWorld, type VirtualWorld } from "@durable/testing";
import { paced } from "./paced.ts";
import { flowNames, flowsOf, type Weather } from "./flows.ts";
import type { Op, Target } from "./plan.ts";

/** Opens an empty storage. */
export type Open = (now: () => number) => {
  readonly storage: Storage;
  /** Closes it, and removes what it leaves behind. */
  readonly close: () => void | Promise<void>;
};

const secret = "a secret for tests, of no worth";
const minute = 60_000;

/** Work in the background gets this much time after each operation, and stops within it. */
const restMs = 2_000;

/** What the user saw, a line per operation, and then all that is left. */
export async function play(ops: readonly Op[], open: Open): Promise<string[]> {
  const world: VirtualWorld = virtualWorld({ seed: 7, hold: () => calls.hold() });
  const { storage, close } = open(() => world.now());
  const calls = paced(storage, () => world);
  const player = new Player(calls.storage, world);
  try {
    const seen: string[] = [];
    for (const op of ops) {
      seen.push(`${JSON.stringify(op)} -> ${await player.reply(() => player.perform(op))}`);
      await world.advance(restMs);
    }
    return [...seen, ...(await player.all()), ...world.warnings.map((warning) => `warning: ${warning}`)];
  } finally {
    await close();
  }
}

class Player {
  readonly #storage: Storage;
  readonly #world: VirtualWorld;
  readonly #weather: Weather = { storm: true };
  readonly #app: App;

  constructor(storage: Storage, world: VirtualWorld) {
    this.#storage = storage;
    this.#world = world;
    const workflows = flowsOf(this.#weather);
    this.#app = createApp({ storage, world, secret, patience: 0, workflows });
  }

  /** What a call gave, as a text, while time passes. */
  reply(call: () => Promise<unknown>): Promise<string> {
    return this.#world.run(told(call));
  }

  /** The id of the run that an operation is for. */
  async #idOf({ nth, status }: Target): Promise<string> {
    const found = status === null ? [] : (await this.#app.list({ status })).runs;
    const runs = found.length > 0 ? found : (await this.#app.list()).runs;
    return runs[nth % Math.max(1, runs.length)]?.runId ?? "none";
  }

  perform(op: Op): Promise<unknown> {
    const app = this.#app;
    switch (op.op) {
      case "start":
        return app.start(op.flow, op.input, op.options).then(({ id, repeated }) => ({ id, repeated }));
      case "work":
        return this.#work(op);
      case "sweep":
        return app.sweep({ concurrency: 1 });
      case "tick":
        return this.#pass(10 * minute).then(() => app.schedules.fire());
      case "weather":
        this.#weather.storm = op.storm;
        return Promise.resolve();
      case "clock":
        return this.#pass(op.ms);
      case "answer":
        return this.#answer(op);
      case "stop":
        return app.pause(op.flow, { reason: "stopped" });
      case "go":
        return app.unpause(op.flow);
      default:
        return "run" in op ? this.#steer(op) : this.#operate(op);
    }
  }

  async #steer(op: Op & { readonly run: Target }): Promise<unknown> {
    const app = this.#app;
    const id = await this.#idOf(op.run);
    switch (op.op) {
      case "advance":
        return app.advance(id);
      case "send":
        return app.send(id, "news", op.payload, op.id === null ? {} : { id: op.id });
      case "fork":
        return this.#fork(id, op);
      case "cancel":
        return app.cancel(id, { reason: "not needed" });
      case "pause":
        return app.get(id).pause({ reason: "wait" });
      case "unpause":
        return app.get(id).unpause({ drive: false });
      case "retry":
        return app.get(id).retry({ drive: false });
      case "delete":
        return app.delete(id);
      case "drop":
        return app.get(id).dropChapters();
      default:
        throw new Error(`Unknown operation ${op.op}`);
    }
  }

  #operate(op: Op): Promise<unknown> {
    const app = this.#app;
    switch (op.op) {
      case "purge":
        return app.purge({
          ...(op.olderThan !== null && { olderThan: op.olderThan }),
          ...(op.keep !== null && { keep: op.keep }),
          ...(op.all && { status: ["completed", "failed", "cancelled"] }),
        });
      case "hold":
        return this.#hold(op);
      case "schedule":
        return this.#schedule(op);
      case "unschedule":
        return app.schedules.delete("pulse");
      case "trigger":
        return app.schedules.trigger("pulse").then(({ id }) => id.replace(/-[a-z0-9]+$/, ""));
      default:
        throw new Error(`Unknown operation ${op.op}`);
    }
  }

  #pass(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#world.timer(ms, resolve));
  }

  /** As a worker of one workflow does: of one alone, because storages begin with another one each. */
  async #work({ flow, most }: Op & { op: "work" }): Promise<unknown> {
    const { paused } = { paused: await this.#app.paused() };
    if (paused.some(({ workflow }) => workflow === flow)) return "paused";
    const now = this.#world.now();
    const claimed = await this.#storage.claim?.({
      workflow: [flow],
      dueAt: now,
      limit: most,
      quietMs: 5_000,
      slots: { slotted: 1 },
    });
    const outcomes: unknown[] = [];
    // Not by `reply`: time already passes, and a second one that lets it pass could be a jump ahead of the first.
    for (const { runId } of claimed ?? []) outcomes.push(await told(() => this.#app.advance(runId)));
    return { claimed: claimed?.map(({ runId }) => runId), outcomes };
  }

  async #hold({ nth }: Op & { op: "hold" }): Promise<unknown> {
    const { runs } = await this.#app.list({ dueAt: this.#world.now() });
    const run = runs[nth % Math.max(1, runs.length)];
    if (run === undefined) return null;
    const lease = await this.#storage.lease(run.locator, "a process that died", minute, { slotted: 1 });
    return { runId: run.runId, lease };
  }

  /** Answers the run, or the next one in the list that waits for an answer. */
  async #answer({ run, value, drive }: Op & { op: "answer" }): Promise<unknown> {
    const query = run.status === null ? {} : { status: run.status };
    const { runs } = await this.#app.list(query);
    const at = run.nth % Math.max(1, runs.length);
    for (const { runId } of [...runs.slice(at), ...runs.slice(0, at)]) {
      const outcome = await this.#app.get(runId).outcome();
      const points = "waiting" in outcome ? outcome.waiting : [];
      const token = points.find((point) => point.token !== "")?.token;
      if (token === undefined) continue;
      return {
        runId,
        reply: await this.#app.resume(token, value, { drive }),
      };
    }
    return null;
  }

  async #fork(run: string, { id, nth, edit }: Op & { op: "fork" }): Promise<unknown> {
    const entries = await this.#app.get(run).entries();
    const keys = entries.flatMap((entry) => ("key" in entry ? [entry.key] : []));
    const from = keys[nth % Math.max(1, keys.length)] ?? "none";
    const fork = await this.#app.get(run).fork({ id, ...(edit ? { edit: { [from]: 7 } } : { from }) });
    return { of: run, from, id: fork.id };
  }

  async #schedule({ flow, overlap, missed }: Op & { op: "schedule" }): Promise<unknown> {
    const workflow = flowsOf(this.#weather).find(({ name }) => name === flow);
    const input = { n: 0, key: "x" } as never;
    return workflow && this.#app.schedule("pulse", workflow, { every: "10 minutes", overlap, missed, input });
  }

  /** Everything that a user can see at the end. */
  async all(): Promise<string[]> {
    const app = this.#app;
    const now = this.#world.now();
    const statuses = [
      "running",
      "suspended",
      "paused",
      "blocked",
      "completed",
      "failed",
      "cancelled",
    ] as const;
    const queries = [
      {},
      ...statuses.map((status) => ({ status })),
      ...flowNames.map((workflow) => ({ workflow })),
      ...flowNames.map((workflow) => ({ workflow, dueAt: now })),
      { dueAt: now },
      { dueAt: now + 24 * 60 * minute },
      { endedBefore: now },
      { tags: { of: "ann" } },
      { tags: { stage: "n1" } },
      { q: "r1" },
      { parent: "r0" },
      { createdAfter: now - 30 * minute },
    ];
    const lines: string[] = [];
    const note = async (what: unknown, call: () => Promise<unknown>): Promise<void> =>
      void lines.push(`${JSON.stringify(what)}: ${await this.reply(call)}`);
    for (const query of queries) await note(query, async () => (await app.list(query)).runs);
    const { runs } = await this.#world.run(app.list({ limit: 1_000 }));
    for (const { runId } of runs) {
      await note(`outcome ${runId}`, () => app.get(runId).outcome());
      await note(`entries ${runId}`, async () => (await app.get(runId).entries()).map(withoutTimes));
    }
    await note("schedules", () => app.schedules.list());
    await note("paused", () => app.paused());
    await note("slots", async () => this.#storage.limits?.slots());
    return lines;
  }
}

/** What a call gave, as a text. */
async function told(call: () => Promise<unknown>): Promise<string> {
  try {
    return JSON.stringify(await call(), shown) ?? "nothing";
  } catch (error) {
    return `rejected: ${JSON.stringify(error, shown)}`;
  }
}

/** What an entry says; how long work took depends on the machine. */
function withoutTimes(entry: Entry): unknown {
  const { took: _, ...rest } = entry as Entry & { readonly took?: unknown };
  return rest;
}

/** Fields in one order, and errors with what users see of them. */
function shown(_key: string, value: unknown): unknown {
  if (value instanceof Error) {
    const { name, message } = value;
    return { name, message, ...(DurableError.is(value) && { code: value.code, details: value.details }) };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
