/**
 * A process with a bug in it: loads core with patches in place and runs simulations until one of them objects.
 * Started by hunt.ts, which sends the job and hears what came of it.
 */
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type * as simulation from "../../packages/testing/src/sim/simulate.ts";
import type { Finding, Job } from "./hunt.ts";
import { coreSources, patched, type Patch } from "./patch.ts";

const loaded = new Set<string>();

/** Whoever imports a patched file gets the patched text; nothing on disk changes. */
function plant(patches: readonly Patch[]): void {
  const files = new Set(patches.map(({ file }) => file));
  registerHooks({
    load(url, context, nextLoad) {
      const path = url.startsWith("file:") ? fileURLToPath(url) : "";
      const file = relative(coreSources, path).split(sep).join("/");
      if (!files.has(file)) return nextLoad(url, context);
      loaded.add(file);
      const source = patched(file, readFileSync(path, "utf8"), patches);
      return { format: "module-typescript", source, shortCircuit: true };
    },
  });
}

/** Says the last word. Nothing of this process is worth an orderly end. */
function tell(finding: Finding): void {
  process.send?.(finding, () => process.exit());
}

/** Only now: what is imported before the hook is in place is sound. */
async function load(): Promise<typeof simulation | Error> {
  try {
    return await import("../../packages/testing/src/sim/simulate.ts");
  } catch (error) {
    return error as Error;
  }
}

let seed = 0;

async function live({ patches, seeds }: Job): Promise<void> {
  plant(patches);
  const simulator = await load();
  if (simulator instanceof Error) return tell({ kind: "unfit", what: String(simulator) });
  const missed = patches.find(({ file }) => !loaded.has(file));
  if (missed !== undefined) return tell({ kind: "unfit", what: `${missed.file} is never loaded` });
  for (const [index, next] of seeds.entries()) {
    seed = next;
    process.send?.({ kind: "begins", seed });
    const [violation] = (await simulator.simulate({ seed })).violations;
    if (violation === undefined) continue;
    const { invariant, message } = violation;
    return tell({ kind: "caught", by: invariant, what: message, seed, tried: index + 1 });
  }
  tell({ kind: "survived", tried: seeds.length });
}

process.on("uncaughtException", (error) => {
  tell({ kind: "caught", by: "crash", what: String(error), seed, tried: null });
});
// Nobody is left to tell.
process.once("disconnect", () => process.exit());
process.once("message", (job: Job) => void live(job));
