/**
 * Kills writers of a SQLite journal and tears its log, for as long as it is told to:
 *
 *     npm run soak:sqlite -- --kills 2000 --images 20000 --seed 7
 */
import { parseArgs } from "node:util";
import { killWriters } from "../packages/core/test/support/sqlite-kills.ts";
import { tearFiles } from "../packages/core/test/support/sqlite-torn.ts";

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "2000" },
    images: { type: "string", default: "20000" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
  },
});
const seed = Number(values.seed);
const wanted = { kills: Number(values.kills), images: Number(values.images) };
if (![seed, wanted.kills, wanted.images].every(Number.isInteger)) {
  console.error("soak:sqlite: --kills, --images and --seed are whole numbers");
  process.exit(1);
}

let shown = 0;

/** One line that is written over where there is a screen, and twenty of them where there is none. */
function show(line: string, count: number, of: number): void {
  const part = Math.floor((count * 20) / of);
  if (process.stdout.isTTY) process.stdout.write(`\r${line}`.padEnd(100));
  else if (part !== shown) console.log(line);
  shown = part;
}

try {
  const killed = await killWriters({
    kills: wanted.kills,
    seed,
    progress: ({ kills, acknowledged, batches }) =>
      show(
        `${kills}/${wanted.kills} kills, ${acknowledged} acknowledged, ${batches} kept`,
        kills,
        wanted.kills,
      ),
  });
  const torn = await tearFiles({
    images: wanted.images,
    seed,
    progress: ({ images, whole, shorter, refused, changed }) =>
      show(
        `${images}/${wanted.images} images: ${whole} whole, ${shorter} shorter, ${refused} refused, ${changed} changed`,
        images,
        wanted.images,
      ),
  });
  if (torn.changed > 0) throw new Error(torn.faults.join("\n"));
  console.log(
    `\nsoak:sqlite: ${killed.kills} kills and ${torn.images} torn images, nothing acknowledged was lost or changed (seed ${seed})`,
  );
} catch (error) {
  console.error(`\nsoak:sqlite: FAILED with seed ${seed}:`, error);
  process.exitCode = 1;
}
