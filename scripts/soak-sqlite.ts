/**
 * Real crashes of SQLite journals, for as long as it is told to:
 *
 *     npm run soak:sqlite -- --kills 2000 --images 10000 --traces 5000 --seed 7
 *
 * kills    processes killed by SIGKILL: one half write batches, the other half drive whole workflows
 * images   files torn or with bits flipped: in the log, in the file beside its log, in a file that was closed
 * traces   random lists of storage operations, and for every twentieth a world of workflows, compared with MemoryStorage
 *
 * 0 leaves a part out. What failed is said with its seed; the last line has what was lost, doubled and changed.
 */
import { parseArgs } from "node:util";
import { compareJournals } from "../packages/core/test/adapters/sqlite/support/journals.ts";
import { killWriters } from "../packages/core/test/adapters/sqlite/support/kills.ts";
import { killDrivers } from "../packages/core/test/adapters/sqlite/support/lives.ts";
import { tearFiles } from "../packages/core/test/adapters/sqlite/support/torn.ts";
import { compareTraces } from "../packages/core/test/adapters/sqlite/support/traces.ts";

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "2000" },
    images: { type: "string", default: "10000" },
    traces: { type: "string", default: "5000" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
  },
});
const [kills = 0, images = 0, traces = 0, seed = 0] = [
  values.kills,
  values.images,
  values.traces,
  values.seed,
].map(Number);
if (![kills, images, traces, seed].every((number) => Number.isInteger(number) && number >= 0)) {
  console.error("soak:sqlite: --kills, --images, --traces and --seed are whole numbers");
  process.exit(1);
}

let shown = "";

/** One line that is written over where there is a screen, and twenty of them where there is none. */
function show(what: string, count: number, of: number): void {
  const line = `${count}/${of} ${what}`;
  const part = `${what.split(" ", 1)[0]} ${Math.floor((count * 20) / of)}`;
  if (process.stdout.isTTY) process.stdout.write(`\r${line}`.padEnd(110));
  else if (part !== shown) console.log(line);
  shown = part;
}

try {
  const of = {
    writers: Math.ceil(kills / 2),
    drivers: Math.floor(kills / 2),
    worlds: Math.ceil(traces / 20),
  };
  const written = await killWriters({
    kills: of.writers,
    seed,
    progress: ({ kills: count, acknowledged, lost, doubled }) =>
      show(
        `writers killed, ${acknowledged} acknowledged, ${lost} lost, ${doubled} doubled`,
        count,
        of.writers,
      ),
  });
  const driven = await killDrivers({
    kills: of.drivers,
    seed,
    progress: ({ kills: count, runs, acknowledged, lost, doubled }) =>
      show(
        `drivers killed, ${runs} runs over, ${acknowledged} acknowledged, ${lost} lost, ${doubled} doubled`,
        count,
        of.drivers,
      ),
  });
  const torn = await tearFiles({
    images,
    seed,
    progress: ({ images: count, whole, shorter, refused, changed }) =>
      show(
        `images: ${whole} whole, ${shorter} shorter, ${refused} refused, ${changed} changed`,
        count,
        images,
      ),
  });
  const traced = await compareTraces({
    traces,
    seed,
    progress: ({ traces: count, operations }) => show(`traces of ${operations} operations`, count, traces),
  });
  const journals = await compareJournals({
    worlds: of.worlds,
    seed,
    progress: ({ worlds: count, calls }) => show(`worlds of ${calls} storage calls`, count, of.worlds),
  });
  const lost = written.lost + driven.lost;
  const doubled = written.doubled + driven.doubled;
  const otherwise = driven.rerun + driven.different;
  const unlisted = torn.unlisted === 0 ? "" : ` (${torn.unlisted} with lists that lack runs)`;
  console.log(
    `\nsoak:sqlite: ${written.kills + driven.kills} kills (${written.acknowledged + driven.acknowledged} acknowledged, ${driven.runs} runs over): ` +
      `${lost} lost, ${doubled} doubled, ${otherwise} otherwise; ${torn.images} images${unlisted}: ${torn.changed} changed; ` +
      `${traced.traces} traces and ${journals.worlds} worlds as on MemoryStorage (seed ${seed})`,
  );
  const faults = [...driven.faults, ...torn.faults];
  if (lost + doubled + otherwise + torn.changed > 0) throw new Error(faults.join("\n"));
} catch (error) {
  console.error(`\nsoak:sqlite: FAILED with seed ${seed}:`, error);
  process.exitCode = 1;
}
