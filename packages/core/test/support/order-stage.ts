/** One run, driven by one version of its code after another: what ran, what came back, what was left over. */

import {
  createApp,
  durable,
  MemoryStorage,
  type App,
  type Context,
  type Outcome,
  type Storage,
  type StepOptions,
  type Workflow,
  type Duration,
} from "@durable/core";
import { virtualWorld, type VirtualWorld } from "@durable/testing";

export const secret = "a secret for tests, of no worth";
export const runId = "order-1";

/** A step whose value says which version of the code computed it: `a1` by version 1, `a2` by version 2. */
export type Say = (name: string, options?: StepOptions, within?: Context) => Promise<string>;
export type Code = (ctx: Context, say: Say) => unknown;

export interface Stage {
  readonly world: VirtualWorld;
  readonly storage: MemoryStorage;
  /** Names of the steps whose work ran since this was last asked. */
  ran(): string[];
  /** The workflow with this code, as version 1, 2, ... */
  flow(code: Code, version?: number, storage?: Storage): Workflow<unknown, unknown>;
  app(code: Code, version?: number): App;
  /** Starts or continues the run with this code, in virtual time, until it stops. */
  run(code: Code, version?: number): Promise<Outcome<unknown>>;
  /** The journal's batches, byte for byte. */
  bytes(): Promise<readonly string[]>;
  /** Kinds and keys of the journal's entries. */
  entries(): Promise<string[]>;
  /** What the end lists as recorded and no longer asked for. */
  orphans(): Promise<readonly string[]>;
}

export function stage(options: { readonly patience?: Duration; readonly seed?: number } = {}): Stage {
  const world = virtualWorld({ seed: options.seed ?? 1 });
  const storage = new MemoryStorage({ now: () => world.now() });
  let ran: string[] = [];
  const bind = (code: Code, version: number, over: Storage): Workflow<unknown, unknown> =>
    durable(
      "flow",
      (ctx) =>
        code(ctx, (name, stepOptions = {}, within = ctx) =>
          within.step(
            name,
            () => {
              ran.push(name);
              return `${name}${version}`;
            },
            stepOptions,
          ),
        ),
      {
        storage: over,
        world,
        secret,
        version: `v${version}`,
        patience: options.patience ?? 0,
      },
    );
  const locator = async (): Promise<string> => (await storage.list()).runs[0]?.locator ?? "";
  const bytes = async (): Promise<readonly string[]> => (await storage.read(await locator())).batches;
  const parsed = async (): Promise<{ kind: string; key?: string; orphans?: string[] }[]> =>
    (await bytes()).flatMap((text) => (JSON.parse(text) as { entries: never[] }).entries);
  return {
    world,
    storage,
    ran: () => {
      const names = ran;
      ran = [];
      return names;
    },
    flow: (code, version = 2, over = storage) => bind(code, version, over),
    app: (code, version = 2) =>
      createApp({
        storage,
        world,
        secret,
        patience: options.patience ?? 0,
        bind: false,
        workflows: [bind(code, version, storage)],
      }),
    run: (code, version = 2) => world.run(bind(code, version, storage).run(null, { id: runId })),
    bytes,
    entries: async () =>
      (await parsed()).map(({ kind, key }) => (key === undefined ? kind : `${kind} ${key}`)),
    orphans: async () => (await parsed()).at(-1)?.orphans ?? [],
  };
}

/** The token of an open wait, by its name. */
export function tokenOf(outcome: Outcome<unknown>, name: string): string {
  const point =
    outcome.status === "suspended" ? outcome.waiting.find((waiting) => waiting.name === name) : undefined;
  if (point === undefined) throw new Error(`No open wait "${name}" in ${JSON.stringify(outcome)}.`);
  return point.token;
}

export function outputOf(outcome: Outcome<unknown> | undefined): unknown {
  return outcome?.status === "completed" ? outcome.output : outcome;
}

/** A fresh storage that holds the first batches of a run: what a process finds that comes at that moment. */
export async function cutAt(storage: Storage, count: number, now: () => number): Promise<MemoryStorage> {
  const cut = new MemoryStorage({ now });
  const [head] = (await storage.list()).runs;
  if (head === undefined) throw new Error("There is no run to cut.");
  const { batches } = await storage.read(head.locator);
  for (const [position, batch] of batches.slice(0, count).entries()) {
    const { locator } = head;
    await cut.append({ locator, position, batch, head: { ...head, status: "running", wakeAt: 0 } });
  }
  return cut;
}

/** The entries of a journal's batches. */
export function entriesOf(batches: readonly string[]): readonly { kind: string; key?: string }[] {
  return batches.flatMap((text) => (JSON.parse(text) as { entries: [] }).entries);
}

export const settlement = /^step\.|^sleep\.fired|^suspend\.(resolved|expired)/;
