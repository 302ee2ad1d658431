/**
 * Forged resume tokens through the HTTP handler, for as long as it is told to:
 *
 *     npm run soak:tokens -- --forged 1000000 --real 200 --seed 7
 *
 * forged   tokens made by somebody who knows the form, real tokens, and other people's keys
 * real     runs that wait; every bit of each of their tokens is flipped, one at a time
 *
 * Then keys are rotated twice while runs wait: every token that is out still resumes. Fails when a forged token is
 * accepted, when two of them are answered differently, when a journal has changed, or when an old token is refused.
 */
import { parseArgs } from "node:util";
import { forge, rotate } from "../packages/http/test/support/forgery.ts";

const { values } = parseArgs({
  options: {
    forged: { type: "string", default: "1000000" },
    real: { type: "string", default: "200" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
  },
});
const [forged = 0, real = 0, seed = 0] = [values.forged, values.real, values.seed].map(Number);
if (![forged, real, seed].every((number) => Number.isInteger(number) && number >= 0) || real < 1) {
  console.error("soak:tokens: --forged, --real and --seed are whole numbers, and --real is 1 or more");
  process.exit(1);
}

const step = Math.max(1_000, Math.ceil(forged / 20));
let shown = 0;
const result = await forge({
  forged,
  real,
  seed,
  progress: (tried) => {
    if (tried < shown) return;
    shown += step;
    console.log(`${tried} tried`);
  },
});
const rotated = await rotate(real);
const { tried, flipped, accepted, answers, changed } = result;
console.log(
  `soak:tokens: ${tried} forged and ${flipped} with one bit flipped: ${accepted.length} accepted, ${answers} kind of answer, ${changed} journals changed; ` +
    `two rotations: ${rotated.resumed} of ${rotated.issued} tokens resumed, ${rotated.refused} of ${real} of a retired key refused (seed ${seed})`,
);
const ok =
  accepted.length + changed === 0 &&
  answers === 1 &&
  rotated.resumed === rotated.issued &&
  rotated.refused === real;
if (!ok) console.error(`soak:tokens: FAILED with seed ${seed}`, accepted.slice(0, 5));
process.exitCode = ok ? 0 : 1;
