/** I2: a journal without its end, in a fresh storage, a fresh process and another time, must come to the same end. */

import { MemoryStorage, createApp, durable, type Context } from "@durable/core";
import { virtualWorld } from "../world.ts";
import { isEnd, type RunLog, type WrittenEntry } from "./history.ts";
import { observed, type Onlooker } from "./observe.ts";
import { bodyOf } from "./program.ts";
import type { Town } from "./town.ts";

export async function judgeColdStart(town: Town, run: RunLog): Promise<void> {
  const { history, plan } = town;
  const end = run.batches.at(-1)?.entries.at(-1);
  const lineage = history.lineage(run);
  if (
    end === undefined ||
    !/^run\.(completed|failed)$/.test(end.kind) ||
    lineage.some(({ deleted }) => deleted)
  )
    return;
  const flow = plan.flows.find(({ name }) => name === run.workflow);
  const code = codeAtTheEnd(town, run);
  if (flow === undefined || code === null) return;
  const world = virtualWorld({ start: Date.UTC(2026, 6, 1) });
  const storage = new MemoryStorage({ now: () => world.now() });
  for (const log of lineage.toReversed()) await load(storage, log, log === run);
  const ran: string[] = [];
  const workflow = replaying(flow.name, code === "changed" ? flow.changed : flow.tree, ran);
  const secret = "a secret of no worth";
  const app = createApp({ workflows: [workflow], storage, world, secret });
  const outcome = await world.run(app.advance(run.runId));
  if (ran.length > 0) history.violate("I2", `run ${run.runId}: a cold start runs ${ran.join(", ")} again`);
  const { batches } = await storage.read(run.locator);
  const again = (JSON.parse(batches.at(-1) ?? "{}") as { entries?: WrittenEntry[] }).entries?.at(-1);
  if (told(again) !== told(end))
    history.violate(
      "I2",
      `run ${run.runId}: a cold start ends ${outcome.status}, ${told(again)} instead of ${told(end)}`,
    );
}

/** The same function, whose work does nothing but say that it was done. */
function replaying(
  name: string,
  tree: Parameters<typeof bodyOf>[0],
  ran: string[],
): ReturnType<typeof durable> {
  const body = bodyOf(tree, {
    pause: () => Promise.resolve(),
    nonce: () => "never",
    mail: () => {},
    fork: () => Promise.resolve("never"),
  });
  const onlooker: Onlooker = {
    seen: (ctx) => void ctx.random("seen"),
    starts: ({ key }) => {
      ran.push(key);
      return () => {};
    },
    waits: () => {},
  };
  return durable(name, (ctx: Context) => body(observed(ctx, onlooker)));
}

/** Which version of the code brought a run to its end. */
function codeAtTheEnd({ history }: Town, run: RunLog): string | null {
  const process = run.batches.at(-1)?.process;
  return history.passes.findLast((pass) => pass.run === run && pass.process === process)?.code ?? null;
}

function told(entry: WrittenEntry | undefined): string {
  const error = entry?.error as { message?: unknown } | undefined;
  return JSON.stringify([entry?.kind, entry?.output, error?.message ?? error]);
}

async function load(storage: MemoryStorage, { locator, batches }: RunLog, cut: boolean): Promise<void> {
  const head = {
    locator,
    runId: "",
    workflow: "",
    status: "running",
    wakeAt: 0,
    createdAt: 0,
    updatedAt: 0,
    steps: 0,
    label: null,
    parent: null,
    ancestors: [],
  } as const;
  const createdAt = batches[0]?.entries[0]?.at ?? 0;
  for (const [position, { text }] of batches.entries()) {
    const raw = JSON.parse(text) as { entries: WrittenEntry[] };
    const entries = raw.entries.filter(({ kind }) => !cut || !isEnd(kind));
    if (entries.length > 0)
      await storage.append({
        locator,
        position,
        batch: JSON.stringify({ ...raw, entries }),
        head: { ...head, createdAt },
      });
  }
}
