/**
 * What the storage holds whose rows are edited: something in every table and kind of object that an app fills. And what the
 * app has given each run, which is all that its journal may have.
 */

import { createApp, createWorker, durable, type App, type Storage } from "@durable/core";
import { aesGcm } from "@durable/core/encryption";
import { systemWorld } from "../../../src/ports/world.ts";

const keys = { a: Uint8Array.from({ length: 32 }, (_, n) => n * 7 + 1) };
const secret = "only for this test, 32 characters";

const wait = durable("wait", async (ctx, input: string) => [input, await ctx.suspend("go")]);
const other = durable("other", async (ctx, input: string) => [input, await ctx.suspend("go")]);
const paid = durable("paid", (ctx, input: string) => ctx.step("allowed", ({ meter }) => pay(meter, input)));
/** Two chapters. */
const book = durable("book", async (ctx, input: string) => {
  if (input === "private") return ctx.continueAs("second");
  return [input, await ctx.suspend("go")];
});
const rated = durable("rated", async (ctx, input: string) => [input, await ctx.suspend("go")], {
  rate: { max: 1, per: "30 days" },
});
/** Has a fork that reads its first steps. */
const parent = durable("parent", async (ctx, input: string) => {
  await ctx.step("allowed", () => input, { quota: "models" });
  return [input, await ctx.suspend("go")];
});
/** Asks for more after the first call. */
const spend = durable(
  "spend",
  async (ctx, input: string) => {
    for (const name of ["allowed", "more"]) await ctx.step(name, ({ meter }) => pay(meter, input));
  },
  { budget: { most: 1, tree: true, warnAt: 5 } },
);

function pay(meter: (use: object & Record<"model", string> & Numbers) => void, { length }: string): void {
  meter({ model: "m", inputTokens: length, outputTokens: 0, cost: 1 });
}
type Numbers = Record<"inputTokens" | "outputTokens" | "cost", number>;

/** Inputs that the app gave, by run. */
export const given: Readonly<Record<string, readonly string[]>> = {
  "v-1": ["private"],
  "v-one": ["private"],
  "v-later": ["private", "moved"],
  "m-1": ["attacker"],
  "m-2": ["attacker"],
  "b-1": ["private"],
  "c-1": ["private", "second"],
  "p-1": ["private"],
  "p-gone": ["private"],
  "f-0": ["private"],
  "f-1": ["private"],
  "r-1": ["private"],
  "r-2": ["private"],
  "n-1": ["new"],
  "n-2": ["moved"],
  "n-3": ["new"],
  "n-4": ["new"],
};

/** Runs that the app itself has brought to their end. */
export const ended: ReadonlySet<string> = new Set(["p-1", "p-gone"]);

export interface Opened {
  readonly app: App;
  readonly storage: Storage;
  /** The storage keeps limits and keys. */
  readonly hasKeys: boolean;
}

/** An app on a handle of its own, as another process would have it. */
export async function withApp<T>(
  storage: Storage & { close?(): Promise<void> },
  work: (opened: Opened) => Promise<T>,
  warn: (line: string) => void = () => {},
): Promise<T> {
  const hasKeys = storage.limits !== undefined;
  const app = createApp({
    storage,
    secret,
    encryption: aesGcm({ current: "a", keys }),
    workflows: [wait, other, paid, book, ...(hasKeys ? [parent, rated, spend] : [])],
    ...(hasKeys && { quotas: { models: { requests: 1_000_000, per: "1 day" } } }),
    patience: 0,
    bind: false,
    world: { ...systemWorld, warn },
  });
  try {
    return await work({ app, storage, hasKeys });
  } finally {
    await app.close();
    await storage.close?.();
  }
}

export async function prepare({ app, storage, hasKeys }: Opened): Promise<void> {
  const parked = async (workflow: string, id: string, options: object = {}): Promise<void> => {
    await app.run(workflow, given[id]?.[0] ?? "", { id, ...options });
  };
  const one = hasKeys ? { singleton: "key" } : {};
  await parked("wait", "v-1", { tags: { tenant: "v" } });
  await parked("wait", "v-one", one);
  await parked("wait", "m-1", { tags: { tenant: "m" } });
  await parked("other", "m-2", one);
  await parked("book", "c-1");
  await parked("paid", "p-1");
  await parked("paid", "p-gone");
  await app.delete("p-gone");
  const debounce = { key: "key", wait: "30 days" } as const;
  const later = hasKeys ? { debounce } : ({ delay: "30 days" } as const);
  await app.start("wait", "private", { id: "v-later", ...later, drive: false });
  await app.schedule("yearly", wait, { cron: "0 0 1 1 *", overlap: "cancel", input: "private" });
  // Due far from now: an older row of the same schedule, which a writer may restore, must not come due while this runs.
  await app.schedule("paused", other, { cron: "0 0 29 2 *", missed: "all", input: "private" });
  await app.schedules.pause("paused");
  await app.pause("other", { reason: "no work today" });
  if (!hasKeys) return;
  await parked("spend", "b-1");
  await parked("parent", "f-0");
  await app.fork(parent, "f-0", { id: "f-1", after: "allowed" });
  await parked("rated", "r-1");
  await parked("rated", "r-2");
  await storage.takeTurn?.("purge", "w", 3_600_000);
  // Leaves its name.
  const worker = createWorker(app, { name: "w" });
  while ((await storage.limits?.texts("worker "))?.length !== 1)
    await new Promise((resolve) => setTimeout(resolve, 5));
  await worker.stop();
}
