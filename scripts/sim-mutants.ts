/**
 * The test of the tests: simulates core with a bug in it until an invariant is violated.
 *
 *     npm run sim:mutants                            every planted bug
 *     npm run sim:mutants -- --only no-mac-check     one of them, or all that break one law: --only "law 8"
 *     npm run sim:mutants -- --random 20 --draw 1    random mutants, drawn by a seed
 *     npm run sim:mutants -- --only no-mac-check --tests packages/core/test/journal/tokens.test.ts
 *
 * --seeds (2000) is how many simulations a bug must pass to count as a survivor; --markdown prints the table of
 * docs/simulation-mutants.md. Exits with 1 if a planted bug survives, or if the correct engine fails a seed.
 */
import { parseArgs } from "node:util";
import { seeded } from "../packages/testing/src/random.ts";
import { Alarms } from "./mutants/alarm.ts";
import { drawMutants } from "./mutants/draw.ts";
import type { Found } from "./mutants/hunt.ts";
import { patchesOf, type Patch, type PlantedBug } from "./mutants/patch.ts";
import { planted } from "./mutants/planted.ts";
import { tableOf, type Row } from "./mutants/table.ts";
import { tryTests } from "./mutants/unit.ts";

const { values } = parseArgs({
  options: {
    only: { type: "string", multiple: true, default: [] },
    seeds: { type: "string", default: "2000" },
    random: { type: "string" },
    draw: { type: "string", default: "1" },
    tests: { type: "string", multiple: true, default: [] },
    markdown: { type: "boolean", default: false },
  },
});
const count = Number(values.seeds);
const seeds = Array.from({ length: count }, (_, i) => i + 1);
const atATime = 2;
const progress = new Map<string, number>();
const alarms = new Alarms();

function show(): void {
  if (!process.stdout.isTTY) return;
  const now = [...progress].map(([name, seed]) => `${name} ${seed}/${count}`).join(", ");
  process.stdout.write(`\r\x1b[K${now.slice(0, (process.stdout.columns ?? 80) - 1)}`);
}

async function tried(name: string, patches: readonly Patch[], tests: readonly string[]): Promise<Found> {
  progress.set(name, 0);
  show();
  const found =
    tests.length > 0
      ? await tryTests(patches, tests)
      : await alarms.hunt(patches, seeds, (seed) => {
          progress.set(name, seed);
          show();
        });
  progress.delete(name);
  return found;
}

function rowOf({ name, breaks, why, redundant }: PlantedBug, found: Found): Row {
  return { name, breaks, why, found, excuse: redundant ?? null };
}

async function tryPlanted(bugs: readonly PlantedBug[], said: (row: Row) => void): Promise<void> {
  const queue = bugs.values();
  const one = async (): Promise<void> => {
    for (const bug of queue) {
      const tests =
        values.tests.length > 0 ? values.tests : bug.seenBy === undefined ? [] : [bug.seenBy.test];
      said(rowOf(bug, await tried(bug.name, patchesOf(bug), tests)));
    }
  };
  await Promise.all(Array.from({ length: atATime }, one));
}

/** A mutant that does not run at all is replaced by the next one, in the order they were drawn. */
async function tryRandom(wanted: number, said: (row: Row) => void): Promise<void> {
  const drawn = drawMutants(seeded(Number(values.draw)));
  let fit = 0;
  const one = async (): Promise<void> => {
    while (fit < wanted) {
      fit += 1;
      const next = drawn.next();
      if (next.done === true) return;
      const { name, before, after } = next.value;
      const found = await tried(name, [next.value], values.tests);
      if (found.kind === "unfit") fit -= 1;
      else
        said({
          name,
          breaks: "?",
          found,
          excuse: null,
          change: `${before}  ->  ${after.replace(/\s+/g, " ")}`,
        });
    }
  };
  await Promise.all(Array.from({ length: atATime }, one));
}

async function main(): Promise<void> {
  const { only } = values;
  const bugs = planted.filter(
    ({ name, breaks }) => only.length === 0 || only.includes(name) || only.includes(breaks),
  );
  if (bugs.length === 0) throw new Error(`There is no planted bug named ${only.join(" or ")}.`);
  const rows: Row[] = [];
  const names =
    values.random === undefined ? bugs.map(({ name }) => name) : ["engine/engine.ts:000 negate a condition"];
  const table = tableOf(names, values.markdown);
  const said = (row: Row): void => {
    rows.push(row);
    if (process.stdout.isTTY) process.stdout.write("\r\x1b[K");
    console.log(table.line(row));
  };
  console.log(table.head);
  if (values.random === undefined) await tryPlanted(bugs, said);
  else await tryRandom(Number(values.random), said);
  if (process.stdout.isTTY) process.stdout.write("\r\x1b[K");
  const survivors = rows.filter(({ found, excuse }) => found.kind !== "caught" && excuse === null);
  for (const [seed, what] of alarms.false)
    console.error(`sim:mutants: the correct engine fails seed ${seed}: ${what}`);
  const left = survivors.length === 0 ? "" : `: ${survivors.map(({ name }) => name).join(", ")}`;
  const excused = rows.filter(({ found, excuse }) => found.kind !== "caught" && excuse !== null).length;
  console.log(
    `sim:mutants: ${rows.length} bugs, ${rows.length - survivors.length - excused} caught, ${excused} redundant, ${survivors.length} survived${left}`,
  );
  if (alarms.false.size > 0 || (values.random === undefined && survivors.length > 0)) process.exitCode = 1;
}

await main();
