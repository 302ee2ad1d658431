/**
 * What a page asks of a storage with many runs: statements, rows and bytes of lists, searches and ticks, and how soon a change of
 * the oldest run is seen. The runs are genuine: each was started, driven and ended, or waits.
 */

import { StatementSync } from "node:sqlite";
import { createApp, durable, type App, type Storage } from "@durable/core";
import { Client } from "pg";
import type { RunList } from "../../src/api.ts";
import type { Site } from "./ask.ts";
import { Events } from "./events.ts";

const prices = { small: { input: 1, output: 2 } };
const secret = "a secret for tests, of no worth";

const order = durable("order", async (ctx, n: number) => {
  await ctx.step(
    "answer",
    (info) => {
      info.meter({ model: "small", inputTokens: n % 1_000, outputTokens: 7 });
      if (n % 10 === 3) throw new Error(`429 for order ${n}`);
      return n;
    },
    { retry: false },
  );
  if (n % 10 === 7)
    await ctx.suspend("approve", { note: { question: `Refund order ${n}?` }, timeout: "30 days" });
});

export interface Asked {
  readonly statements: number;
  readonly rows: number;
  readonly bytes: number;
  readonly ms: number;
}

/** Counts the statements that SQLite and Postgres get in this process, and the rows that they give. */
export class Counter {
  statements = 0;
  rows = 0;
  readonly #restore: (() => void)[] = [];

  constructor() {
    const saw = (rows: unknown): void => {
      this.statements += 1;
      this.rows += Array.isArray(rows) ? rows.length : 1;
    };
    for (const name of ["all", "get", "run"] as const) {
      const real = Reflect.get(StatementSync.prototype, name) as (...args: unknown[]) => unknown;
      const counting = function (this: StatementSync, ...args: unknown[]): unknown {
        const found = real.apply(this, args);
        saw(found);
        return found;
      };
      Reflect.set(StatementSync.prototype, name, counting);
      this.#restore.push(() => Reflect.set(StatementSync.prototype, name, real));
    }
    const query = Reflect.get(Client.prototype, "query") as (...args: unknown[]) => unknown;
    const asked = function (this: unknown, ...args: unknown[]): unknown {
      const reply = query.apply(this, args);
      if (reply instanceof Promise)
        return reply.then((found: { rows?: unknown[] }) => {
          saw(found.rows ?? []);
          return found;
        });
      return reply;
    };
    Reflect.set(Client.prototype, "query", asked);
    this.#restore.push(() => Reflect.set(Client.prototype, "query", query));
  }

  restore(): void {
    for (const restore of this.#restore) restore();
  }
}

/** Adds runs, the oldest with number `from`: of ten one fails, one waits, one is due, and seven are completed. */
export async function addRuns(
  app: App,
  from: number,
  to: number,
  say: (line: string) => void = () => {},
): Promise<void> {
  const atOnce = 200;
  for (let n = from; n < to; n += atOnce) {
    const some = Array.from({ length: Math.min(atOnce, to - n) }, (_, i) => n + i);
    await Promise.all(
      some.map(async (i) => {
        const tags = { customer: String(i % 5_000), env: i % 2 === 0 ? "prod" : "test" };
        const run = await app.start(order, i, { id: `order-${i}`, tags, drive: i % 10 !== 5 });
        if (i % 10 !== 5) await run.result().catch(() => {});
      }),
    );
    if ((n / atOnce) % 50 === 49) say(`${n + atOnce} runs`);
  }
}

export function appOn(storage: Storage): App {
  return createApp({ storage, secret, prices, workflows: [order], bind: false, patience: 0 });
}

/** What the page asks for: its lists, searches, and what it reads after a change. */
const requests: Readonly<Record<string, string>> = {
  list: "runs?limit=100",
  "list of a status": "runs?limit=100&status=suspended",
  "search: tag": "runs?limit=100&tag=customer%3D42",
  "search: tag, status and time": "runs?limit=100&tag=customer%3D43&status=failed&since=7d",
  "search: beginning of an id": "runs?limit=100&q=order-77",
  "search: word": "runs?limit=100&text=zebra",
  "search: error": "runs?limit=100&error=429",
  "search: cost": "runs?limit=100&cost=%3E0.0005",
  suggestions: "suggest?text=tag%3Acustomer%3D4",
  "tick: rows in view": `runs?ids=${Array.from({ length: 40 }, (_, i) => `order-${i}`).join(",")}`,
  "tick: counts": "counts",
  "tick: open waits": "inbox?limit=1",
  pulse: "pulse?range=24h",
  attention: "attention?range=24h",
};

/** Each request once, after one that warms up. */
export async function ask(site: Site, counter: Counter): Promise<Record<string, Asked>> {
  await site.get("runs?limit=1");
  const found: Record<string, Asked> = {};
  for (const [name, path] of Object.entries(requests)) {
    const [statements, rows, began] = [counter.statements, counter.rows, performance.now()];
    const response = await site.fetch(`/api/${path}`, { headers: { "accept-encoding": "gzip" } });
    const { byteLength: bytes } = await response.arrayBuffer();
    if (!response.ok) throw new Error(`${path}: ${response.status}`);
    const ms = Math.round(performance.now() - began);
    found[name] = { statements: counter.statements - statements, rows: counter.rows - rows, bytes, ms };
  }
  return found;
}

/** What open pages cost while nothing changes: asks the storage so often for its revision. */
export async function idle(storage: Storage, counter: Counter, times: number): Promise<number> {
  const before = counter.statements;
  for (let i = 0; i < times; i++) await storage.revision?.();
  return (counter.statements - before) / times;
}

/**
 * Answers one run after the other, the oldest first, by another handle, and waits until an open list was told and shows it. Gives
 * how long each took, and the state that the list then showed.
 */
export async function answered(
  site: Site,
  other: App,
  numbers: readonly number[],
): Promise<{ readonly ms: readonly number[]; readonly states: readonly string[] }> {
  const list = await Events.open(site, "events");
  let heard = await list.count("runs", 1);
  const [ms, states]: [number[], string[]] = [[], []];
  for (const n of numbers) {
    const outcome = await other.get(`order-${n}`).outcome();
    const began = performance.now();
    await other.resume("waiting" in outcome ? outcome.waiting[0]!.token : "", true);
    const state = async (): Promise<string> =>
      (await site.get<RunList>(`runs?ids=order-${n}`)).runs[0]?.state ?? "gone";
    for (let now = "waiting"; now === "waiting"; now = await state())
      heard = await list.count("runs", heard + 1);
    ms.push(Math.round(performance.now() - began));
    states.push(await state());
  }
  await list.close();
  return { ms, states };
}
