/**
 * How well the tests notice: puts bugs that nobody has chosen into the sources, one at a time, and runs the tests that
 * reach them. docs/internals/mutation-sampling.md explains it.
 *
 *     npm run mutants:map                                       which tests reach which lines; once, takes long
 *     npm run mutants:sample -- --area runs --n 30              a sample of one area, drawn by the last commit
 *     npm run mutants:sample -- --n 300 --seed 7 --jobs 2       all areas
 *     npm run mutants:sample -- --area runs --n 30 --list       what would be drawn
 *     npm run mutants:sample -- --show 3fa9c1d2e0               one mutant; --only tries it
 *
 * --budget (90) is how many seconds of CPU time tests may take per mutant, --seeds (100) how many simulations follow.
 * A run that was interrupted goes on where it stopped, as long as the commit and the seed are the same; --fresh judges
 * everything again.
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { root } from "./lib/workspace.ts";
import { areas, isArea, type Area } from "./mutants/sample/areas.ts";
import { outdatedEntries, readEquivalents } from "./mutants/sample/equivalent.ts";
import { TestMap } from "./mutants/sample/map.ts";
import { endAll } from "./mutants/sample/processes.ts";
import { Progress, survivorText } from "./mutants/sample/progress.ts";
import { Results } from "./mutants/sample/results.ts";
import { allSites, commitOf, readTexts, seedOf, type Drawn } from "./mutants/sample/sampling.ts";
import { Sample } from "./mutants/sample/sample.ts";
import { tableOf } from "./mutants/sample/score.ts";
import { removeAll, Scratch } from "./mutants/sample/scratch.ts";
import { diffOf } from "./mutants/sample/sites.ts";

const { values } = parseArgs({
  options: {
    n: { type: "string", default: "100" },
    seed: { type: "string" },
    area: { type: "string", multiple: true, default: [] },
    budget: { type: "string", default: "90" },
    seeds: { type: "string", default: "100" },
    jobs: { type: "string", default: "1" },
    list: { type: "boolean", default: false },
    only: { type: "string", multiple: true, default: [] },
    show: { type: "string", multiple: true, default: [] },
    fresh: { type: "boolean", default: false },
    map: { type: "boolean", default: false },
  },
});

const progress = new Progress();
const commit = commitOf(root);
const seed = values.seed === undefined ? seedOf(commit) : Number(values.seed);

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.once(signal, () => {
    endAll();
    removeAll();
    progress.clear();
    process.exit(130);
  });

function chosenAreas(): readonly Area[] {
  const unknown = values.area.filter((name) => !isArea(name));
  if (unknown.length > 0) throw new Error(`Unknown area ${unknown.join(", ")}. Use ${areas.join(", ")}.`);
  return values.area.length === 0 ? areas : values.area.filter(isArea);
}

async function makeMap(all: boolean): Promise<TestMap> {
  const map = new TestMap(root);
  const outdated = map.outdated(all);
  if (outdated.length === 0) return map;
  const scratch = new Scratch(root);
  await map.measure(outdated, scratch, (done) =>
    progress.say(`mutants:map: ${done} of ${outdated.length} test files`),
  );
  scratch.remove();
  progress.clear();
  return map;
}

/** The mutants with these ids, wherever they are. */
function byId(ids: readonly string[]): (Drawn & { area: Area })[] {
  const found = areas.flatMap((area) => {
    const texts = readTexts(root, area);
    const mutants = allSites(texts)
      .flat()
      .filter(({ id }) => ids.includes(id));
    return mutants.map((mutant) => ({ area, mutant, source: texts.get(mutant.file) as string }));
  });
  const missing = ids.filter((id) => !found.some(({ mutant }) => mutant.id === id));
  if (missing.length > 0) throw new Error(`No place in the sources gives mutant ${missing.join(", ")}.`);
  return found;
}

function describe({ mutant, source }: Drawn): string {
  return `${mutant.id}  ${mutant.operator}  in ${mutant.within}\n${diffOf(mutant, source)}\n`;
}

async function main(): Promise<void> {
  if (values.show.length > 0) return byId(values.show).forEach((drawn) => console.log(describe(drawn)));
  if (values.map) {
    const map = await makeMap(true);
    console.log(`mutants:map: ${map.size} test files, ${map.failing.length} fail without a mutant`);
    return map.failing.forEach((test) => console.log(`  ${test}`));
  }
  const equivalents = readEquivalents();
  const results = new Results(join(root, "node_modules", ".cache", "mutants", "results.jsonl"));
  const effort = { budgetMs: Number(values.budget) * 1000, seeds: Number(values.seeds) };
  const { fresh } = values;
  const sample = new Sample({ root, commit, seed, equivalents, results, effort, fresh, progress });
  if (values.only.length > 0) sample.choose(byId(values.only));
  else {
    const chosen = chosenAreas();
    for (const area of chosen) {
      const texts = readTexts(root, area);
      const mutants = allSites(texts).flat();
      for (const { id, file, change } of outdatedEntries(equivalents, new Set(texts.keys()), mutants))
        console.log(`mutants: equivalent.json has ${id} (${file}, ${change}), which fits no place any more`);
      sample.drawFrom(area, texts, Math.ceil(Number(values.n) / chosen.length));
    }
  }
  if (values.list) return sample.drawn.forEach((drawn) => console.log(describe(drawn)));
  await sample.judge(await makeMap(false), Number(values.jobs));
  for (const survivor of sample.survivors) console.log(survivorText(survivor));
  console.log(`commit ${commit.slice(0, 12)}, seed ${seed}\n${tableOf(sample.scores)}`);
}

try {
  await main();
} finally {
  removeAll();
  progress.clear();
}
