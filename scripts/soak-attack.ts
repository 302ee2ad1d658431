/**
 * Random attacks, each many times:
 *
 *     npm run soak:attack -- --only tenant,bodies --times 2 --seed 7
 *
 * only     names of attacks; all by default
 * times    multiplies the count of every attack
 *
 * Prints for each attack how many attempts ended how. Fails if one of them reached something, with its seed.
 * The list of attacks is scripts/lib/attacks.ts.
 */
import { parseArgs } from "node:util";
import { attacks } from "./lib/attacks.ts";

const { values } = parseArgs({
  options: {
    only: { type: "string", default: attacks.map(({ name }) => name).join(",") },
    times: { type: "string", default: "1" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
  },
});
const [times = 0, seed = 0] = [values.times, values.seed].map(Number);
const chosen = values.only.split(",").map((name) => attacks.find((attack) => attack.name === name));
if (!(times > 0) || !Number.isInteger(seed) || chosen.includes(undefined)) {
  console.error(
    "soak:attack: --times is a positive number, --seed is a whole number, and --only names some of these:",
  );
  for (const { name, about, count } of attacks) console.error(`  ${name.padEnd(12)} ${about} (${count})`);
  process.exit(1);
}

let [total, reached] = [0, 0];
for (const attack of chosen) {
  if (attack === undefined) continue;
  const { tried, ends, problems } = await attack.run({ count: Math.ceil(attack.count * times), seed });
  const list = Object.entries(ends).map(([end, count]) => `${end} ${count}x`);
  console.log(
    `${attack.name.padEnd(12)} ${tried} tried, ${problems.length} reached something; ${list.join(", ")}`,
  );
  for (const problem of problems.slice(0, 5)) console.error(`  ${problem}`);
  total += tried;
  reached += problems.length;
}
console.log(
  `soak:attack: ${total} attempts of ${chosen.length} attacks, ${reached} reached something (seed ${seed})`,
);
if (reached > 0) console.error(`soak:attack: FAILED with seed ${seed}`);
process.exitCode = reached > 0 ? 1 : 0;
