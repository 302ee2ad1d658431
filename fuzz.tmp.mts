import { fuzzChapters } from "./packages/core/test/adapters/remote/support/chapters-fuzz.ts";
const total: Record<string, number> = {};
const [from = 1, count = 50] = process.argv.slice(2).map(Number);
for (let seed = from; seed < from + count; seed++) {
  const { violations, happened } = await fuzzChapters(seed, 150);
  for (const [k, v] of Object.entries(happened)) total[k] = (total[k] ?? 0) + v;
  if (violations.length) {
    console.log(violations.map((v) => v.slice(0, 900)).join("\n"));
    process.exitCode = 1;
    break;
  }
}
console.log(total);
