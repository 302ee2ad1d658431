/** The workloads of `npm run growth`. Each gets a storage and a size, and says which part of it counts. */

import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import {
  createApp,
  createWorker,
  durable,
  type AnyWorkflow,
  type App,
  type Outcome,
  type Run,
  type Storage,
} from "@durable/core";
import { chatTurn, startChat } from "./chat.ts";

export interface Stage {
  readonly storage: Storage;
  /** Where the storage is; `null` in memory. */
  readonly path: string | null;
  readonly size: number;
  /** Measures a part of the workload, under a name. Processes of its own tell with `spent` what they took, in milliseconds. */
  readonly measure: <T>(part: string, work: (spent: (cpuMs: number) => void) => Promise<T>) => Promise<T>;
}

export interface Workload {
  readonly sizes: readonly number[];
  readonly run: (stage: Stage) => Promise<void>;
}

const secret = "a secret of the growth workloads, long enough";

/** An app with nothing in its memory. */
function cold(storage: Storage, ...workflows: AnyWorkflow[]): App {
  return createApp({ storage, secret, workflows });
}

/** Starts run r, and drives it to its first stop. */
async function begun(app: App, workflow: string, input: unknown): Promise<Outcome<unknown>> {
  await app.start(workflow, input, { id: "r", drive: false });
  return app.advance("r");
}

function tokensIn(outcome: Outcome<unknown>): string[] {
  if (outcome.status !== "suspended") throw new Error(`The run is ${outcome.status}`);
  return outcome.waiting.map(({ token }) => token);
}

const reader = durable("reader", async (ctx, count: number) => {
  let sum = 0;
  for (let i = 0; i < count; i++) sum += await ctx.receive<number>("add");
  return sum;
});

const signals = durable("signals", async (ctx, count: number) => {
  let sum = 0;
  for (let i = 0; i < count; i++) sum += await ctx.suspend<number>("ask");
  return sum;
});

const asks = durable("asks", (ctx) => ctx.suspend<number>("ask"));

const parent = durable("parent", (ctx, count: number) =>
  ctx.map(numbers(count), (c) => c.child(asks), { key: (i) => `c${i}` }),
);

const waits = durable("waits", (ctx, count: number) =>
  ctx.parallel(numbers(count).map(() => (c: typeof ctx) => c.suspend("ask"))),
);

const spawner = durable("spawner", async (ctx, count: number) => {
  for (let i = 0; i < count; i++) await ctx.spawn(asks, undefined, { onParentEnd: "cancel" });
  await ctx.suspend("end");
});

const chapters = durable("chapters", async (ctx, { left, turn }: { left: number; turn: number }) => {
  await ctx.step("work", () => turn);
  if (left === 0) return turn;
  return ctx.continueAs({ left: left - 1, turn: turn + 1 });
});

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i);
}

let steps = 0;
const chain = durable("chain", async (ctx) => {
  let sum = 0;
  for (let i = 0; i <= steps; i++) sum += await ctx.step(`step-${i}`, () => i);
  await ctx.suspend("ask");
  return sum;
});

async function forkChain({ storage, size, measure }: Stage): Promise<void> {
  const app = cold(storage, chain);
  steps = 0;
  let newest: Run = await app.start("chain", undefined, { id: "fork-0" });
  await newest.result().catch(() => {});
  await measure("making", async () => {
    for (steps = 1; steps <= size; steps++) {
      newest = await newest.fork({ from: "ask", id: `fork-${steps}` });
      await newest.result().catch(() => {});
    }
  });
  await measure("deleting", async () => {
    for (let i = 0; i <= size; i++) await app.delete(`fork-${i}`);
  });
}

async function chatTurns(storage: Storage, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await chatTurn(storage);
}

const turnFile = fileURLToPath(new URL("chat-turn.ts", import.meta.url));
const built = fileURLToPath(new URL("../../../packages/core/dist/index.js", import.meta.url));

/** What a whole process takes for one turn, with the packages that were built: reading the sources would be most of it. */
function chatTurnElsewhere(path: string): number {
  if (!existsSync(built)) throw new Error("Run npm run build first: new processes load the built packages.");
  return Number(execFileSync(process.execPath, [turnFile, path]));
}

export const workloads: Readonly<Record<string, Workload>> = {
  "messages to one run, read by a worker": {
    sizes: [1_000, 2_000, 10_000],
    run: async ({ storage, size, measure }) => {
      const app = cold(storage, reader);
      const worker = createWorker(app);
      await app.start("reader", size, { id: "r", drive: false });
      const sender = cold(storage, reader);
      await measure("all", async () => {
        for (let i = 0; i < size; i++) await sender.send("r", "add", i);
        await app.get("r").result({ wait: true });
      });
      await worker.stop();
    },
  },
  "messages to a run that is not driven": {
    sizes: [250, 500, 990],
    run: async ({ storage, size, measure }) => {
      await cold(storage, reader).start("reader", size, { id: "r", drive: false });
      const sender = cold(storage, reader);
      await measure("all", async () => {
        for (let i = 0; i < size; i++) await sender.send("r", "add", i, { id: `m${i}` });
      });
    },
  },
  "messages cold, advance after each": {
    sizes: [250, 500, 1_000],
    run: async ({ storage, size, measure }) => {
      await cold(storage, reader).start("reader", size + 1, { id: "r", drive: false });
      await measure("all", async () => {
        for (let i = 0; i < size; i++) {
          const app = cold(storage, reader);
          await app.send("r", "add", i);
          await app.advance("r");
        }
      });
    },
  },
  "signals cold": {
    sizes: [312, 625, 1_250],
    run: async ({ storage, size, measure }) => {
      const first = cold(storage, signals);
      let outcome: Outcome<unknown> = await begun(first, "signals", size + 1);
      await measure("all", async () => {
        for (let i = 0; i < size; i++) {
          const [token = ""] = tokensIn(outcome);
          const answered = await cold(storage, signals).resume(token, 1);
          outcome = answered.outcome ?? outcome;
        }
      });
    },
  },
  "chat cold": {
    sizes: [25, 125, 250],
    run: async ({ storage, size, measure }) => {
      await startChat(storage);
      const tail = 10;
      await measure("turns before", () => chatTurns(storage, size - tail));
      await measure("last 10 turns", () => chatTurns(storage, tail));
    },
  },
  "chat cold, a new process for each turn": {
    sizes: [25, 125, 250],
    run: async ({ storage, path, size, measure }) => {
      if (path === null) return;
      await startChat(storage);
      const tail = 10;
      await chatTurns(storage, size - tail);
      await measure("last 10 turns", (spent) => {
        for (let i = 0; i < tail; i++) spent(chatTurnElsewhere(path));
        return Promise.resolve();
      });
    },
  },
  "children cold, answered one by one": {
    sizes: [100, 200, 400],
    run: async ({ storage, size, measure }) => {
      const first = cold(storage, parent, asks);
      const tokens = tokensIn(await begun(first, "parent", size));
      await measure("all", async () => {
        for (const token of tokens) {
          const background: Promise<unknown>[] = [];
          const waitUntil = (work: Promise<unknown>): void => void background.push(work);
          const app = createApp({ storage, secret, workflows: [parent, asks], waitUntil });
          await app.resume(token, 1);
          while (background.length > 0) await background.shift();
        }
      });
    },
  },
  "delivering to open waits one by one": {
    sizes: [1_250, 2_500, 5_000],
    run: async ({ storage, size, measure }) => {
      const tokens = tokensIn(await begun(cold(storage, waits), "waits", size));
      const app = cold(storage, waits);
      await measure("all", async () => {
        for (const token of tokens) await app.resume(token, 1, { drive: false });
      });
    },
  },
  "fork chain": { sizes: [50, 100, 200], run: forkChain },
  "spawned runs with cancel, end of the parent": {
    sizes: [500, 1_000, 2_000],
    run: async ({ storage, size, measure }) => {
      const app = cold(storage, spawner, asks);
      const [token] = tokensIn(await begun(app, "spawner", size));
      await measure("end", () => app.resume(token ?? "", 1));
    },
  },
  "early chapters": {
    sizes: [2_500, 5_000, 10_000],
    run: async ({ storage, size, measure }) => {
      const app = cold(storage, chapters);
      await begun(app, "chapters", { left: size, turn: 0 });
      const run = cold(storage, chapters).get("r");
      for (const [part, chapter] of [
        ["first", 2],
        ["middle", size / 2],
        ["last", size],
      ] as const)
        await measure(`${part}, 10 times`, async () => {
          for (let i = 0; i < 10; i++) await run.entries({ chapter });
        });
    },
  },
};
