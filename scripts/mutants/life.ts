/**
 * A process with a bug in it: loads core with patches in place and runs simulations until one of them objects.
 * Started by hunt.ts, which sends the job and hears what came of it.
 */
import type * as simulation from "../../packages/simulator/src/simulate.ts";
import type { Finding, Job } from "./hunt.ts";
import { plant } from "./plant.ts";

/** Says the last word. Nothing of this process is worth an orderly end. */
function tell(finding: Finding): void {
  process.send?.(finding, () => process.exit());
}

/** Only now: what is imported before the hook is in place is sound. */
async function load(): Promise<typeof simulation | Error> {
  try {
    return await import("../../packages/simulator/src/simulate.ts");
  } catch (error) {
    return error as Error;
  }
}

let seed = 0;
let tried = 0;

async function live({ patches, seeds }: Job): Promise<void> {
  const loaded = plant(patches);
  const simulator = await load();
  if (simulator instanceof Error) return tell({ kind: "unfit", what: String(simulator) });
  const missed = patches.find(({ file }) => !loaded.has(file));
  if (missed !== undefined) return tell({ kind: "unfit", what: `${missed.file} is never loaded` });
  for (seed of seeds) {
    tried += 1;
    process.send?.({ kind: "begins", seed });
    const [violation] = (await simulator.simulate({ seed })).violations;
    if (violation === undefined) continue;
    const { invariant, message } = violation;
    return tell({ kind: "caught", by: invariant, what: message, seed, tried });
  }
  tell({ kind: "survived", tried });
}

process.on("uncaughtException", (error) => {
  tell({ kind: "caught", by: "crash", what: String(error), seed, tried });
});
// Nobody is left to tell.
process.once("disconnect", () => process.exit());
process.once("message", (job: Job) => void live(job));
