/**
 * Forged tokens, through the handler: each must get the same response.
 * Used with a small count by a test, and with a million by `npm run soak:tokens`.
 */

import { createHmac } from "node:crypto";
import { type App, createApp, durable, MemoryStorage, type Secret } from "@durable/core";
import { createHandler, type Handler } from "@durable/http";
import { type Random, seeded } from "@durable/testing";

const alphabet = "abcdefghijklmnopqrstuvwxyz234567";
const retired = "a key that was retired";
const inUse = { b: "the key before this one, still accepted", c: "the key that signs now, 32 letters" };
const rings = {
  past: { current: "a", keys: { a: retired, ...inUse } },
  now: { current: "c", keys: inUse },
  foreign: {
    current: "c",
    keys: { b: "another installation's key, its b", c: "another installation's key, its c" },
  },
} satisfies Record<string, Secret>;

const ask = durable("ask", (ctx) => ctx.suspend("reply"));

/** Starts runs that wait, and returns their tokens. */
export async function waitingTokens(app: App, ids: readonly string[]): Promise<string[]> {
  const tokens: string[] = [];
  for (const id of ids) {
    const run = await app.start("ask", undefined, { id });
    await run.result().catch(() => {});
    const outcome = await run.outcome();
    tokens.push(outcome.status === "suspended" ? (outcome.waiting[0]?.token ?? "") : "");
  }
  return tokens;
}

interface Known {
  /** Tokens that would be accepted. */
  readonly real: readonly string[];
  /** Tokens of the same waits under keys that are not, or no longer, in use. */
  readonly others: readonly string[];
}

/** Every token with one bit of one of its 55 symbols flipped, and every byte with one bit flipped. */
export function* bitFlips(token: string): Generator<string, void, undefined> {
  for (let i = 0; i < token.length; i++) {
    const put = (letter: string): string => token.slice(0, i) + letter + token.slice(i + 1);
    const symbol = alphabet.indexOf(token.charAt(i));
    for (let bit = 0; bit < 5; bit++) yield put(alphabet.charAt(symbol ^ (1 << bit)));
    for (let bit = 0; bit < 8; bit++) {
      const letter = String.fromCharCode(token.charCodeAt(i) ^ (1 << bit));
      // Case does not count, so that a token survives a mail gateway.
      if (letter.toLowerCase() !== token.charAt(i)) yield put(letter);
    }
  }
}

const letters = (random: Random, length: number): string =>
  Array.from({ length }, () => alphabet[random.between(0, 31)]).join("");

/** Attacks with knowledge of real tokens, their format, and other keys. */
const tricks: readonly ((random: Random, known: Known) => string)[] = [
  (random) => letters(random, 55),
  (random) => letters(random, random.between(1, 120)),
  (random) => `${random.pick(["b", "c"])}${letters(random, 54)}`,
  (random, { real }) => random.pick(real).slice(0, 29) + letters(random, 26),
  (random, { real }) => random.pick(real).slice(0, 29) + random.pick(real).slice(29),
  (random, { real }) => `c${random.pick(real).slice(1, 19)}${random.pick(real).slice(19)}`,
  (random, { real }) => random.pick(real).slice(0, 19) + letters(random, 10) + random.pick(real).slice(29),
  (random, { real }) =>
    (random.chance(0.8) ? letters(random, 1) : random.pick(["1", "-", "A"])) + random.pick(real).slice(1),
  (random, { real }) => random.pick(real).slice(0, random.between(1, 54)),
  (random, { real }) => random.pick(real) + letters(random, random.between(1, 9)),
  (random, { real }) => letters(random, random.between(1, 9)) + random.pick(real),
  (random, { others }) => random.pick(others),
  (random, { real, others }) => random.pick(real).slice(0, 29) + random.pick(others).slice(29),
  (random, { real, others }) => random.pick(others).slice(0, 29) + random.pick(real).slice(29),
  (random, { real }) => guessed(random, random.pick(real).slice(0, 29)),
  (random, { real }) => disturbed(random, random.pick(real)),
  (random, { real }) => substituted(random, random.pick(real)),
];

/** A valid MAC under a key that is easy to guess, or an invalid MAC. */
function guessed(random: Random, body: string): string {
  const key = random.pick(["", "secret", "a", "b", "c", "durable", retired, body, "undefined", "null"]);
  const purpose = random.pick(["durable resume token v1", "durable resume token v0", "", "durable webhook"]);
  const message = random.pick([`${purpose.length}:${purpose}${body.length}:${body}`, purpose + body, body]);
  const digest = createHmac("sha256", key).update(message).digest();
  let bits = "";
  for (const byte of digest) bits += byte.toString(2).padStart(8, "0");
  return (
    body +
    Array.from({ length: 26 }, (_, i) => alphabet[Number.parseInt(bits.slice(i * 5, i * 5 + 5), 2)]).join("")
  );
}

function disturbed(random: Random, token: string): string {
  const at = random.between(1, 54);
  const junk = random.pick([
    " ",
    "\n",
    "-",
    "=",
    "%",
    "+",
    "/",
    "\0",
    "é",
    "\u200B",
    "\u212A",
    ".",
    "#",
    "?",
    "\\",
    "'",
  ]);
  const cut = random.chance(0.5) ? 1 : 0;
  return token.slice(0, at) + junk + token.slice(at + cut);
}

function substituted(random: Random, token: string): string {
  const symbols = Array.from(token);
  for (let n = random.between(1, 6); n > 0; n--)
    symbols[random.between(0, 54)] = alphabet[random.between(0, 31)] as string;
  return symbols.join("");
}

export interface Forged {
  readonly tried: number;
  readonly flipped: number;
  /** Tokens that were not answered as unknown; there must be none. */
  readonly accepted: readonly string[];
  /** Different answers, head and body; there must be one. */
  readonly answers: number;
  /** Runs whose journal has changed; there must be none. */
  readonly changed: number;
}

/** Tries forged tokens, and every bit flip of real ones. */
export async function forge(options: {
  readonly forged: number;
  readonly real: number;
  readonly seed: number;
  readonly progress?: (tried: number) => void;
}): Promise<Forged> {
  const ids = Array.from({ length: options.real }, (_, i) => `run-${i}`);
  const storage = new MemoryStorage();
  const appOf = (secret: Secret, on = storage): App =>
    createApp({ storage: on, secret, workflows: [ask], warm: 0 });
  const now = appOf(rings.now);
  const real = await waitingTokens(now, ids);
  const past = await tokensUnder(appOf(rings.past), ids);
  const foreign = await waitingTokens(appOf(rings.foreign, new MemoryStorage()), ids);
  const genuine = new Set(real);
  const known = { real, others: [...past, ...foreign] };
  const before = await lengths(now, ids);
  const handler = createHandler(now);
  const random = seeded(options.seed);
  const seen = { accepted: [] as string[], answers: new Set<string>() };
  let tried = 0;
  for (; tried < options.forged; tried++) {
    const token = random.pick(tricks)(random, known);
    if (!genuine.has(token)) await tryToken(handler, token, seen);
    if (tried % 1_000 === 0) options.progress?.(tried);
  }
  let flipped = 0;
  for (const token of real) {
    for (const flip of bitFlips(token)) {
      await tryToken(handler, flip, seen);
      flipped += 1;
    }
    options.progress?.(tried + flipped);
  }
  const after = await lengths(now, ids);
  const changed = before.filter((length, i) => length !== after[i]).length;
  return { tried, flipped, accepted: seen.accepted, answers: seen.answers.size, changed };
}

/** Tokens of runs that wait already, as an app with other keys signs them. */
async function tokensUnder(app: App, ids: readonly string[]): Promise<string[]> {
  const tokens: string[] = [];
  for (const id of ids) {
    const outcome = await app.get(id).outcome();
    if (outcome.status === "suspended") tokens.push(outcome.waiting[0]?.token ?? "");
  }
  return tokens;
}

async function lengths(app: App, ids: readonly string[]): Promise<number[]> {
  return Promise.all(ids.map(async (id) => (await app.get(id).entries()).length));
}

async function tryToken(
  handler: Handler,
  token: string,
  seen: { accepted: string[]; answers: Set<string> },
): Promise<void> {
  const response = await handler(answerTo(token, 1));
  if (response.status !== 404) seen.accepted.push(token);
  seen.answers.add(JSON.stringify([response.status, [...response.headers], await response.text()]));
}

function answerTo(token: string, value: unknown): Request {
  return new Request(`http://lab.example/resume/${encodeURIComponent(token.toWellFormed())}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ value }),
  });
}

export interface Rotated {
  /** Tokens issued before, between and after two rotations. */
  readonly issued: number;
  readonly resumed: number;
  /** Of those whose key was retired afterwards: answered as unknown. */
  readonly refused: number;
}

/** Two rotations while runs wait: all issued tokens resume, except those of a retired key. */
export async function rotate(count: number): Promise<Rotated> {
  const storage = new MemoryStorage();
  const keys = {
    a: "the first key, of 32 characters or so",
    b: "the second key, of as many",
    c: "and a third key, as long",
  };
  const appWith = (current: "a" | "b" | "c", ring: Partial<typeof keys>): App =>
    createApp({
      storage,
      secret: { current, keys: ring },
      workflows: [ask],
      warm: 0,
    });
  const ids = (name: string): string[] => Array.from({ length: count }, (_, i) => `${name}-${i}`);
  const first = await waitingTokens(appWith("a", { a: keys.a }), [...ids("first"), ...ids("stale")]);
  const second = await waitingTokens(appWith("b", { a: keys.a, b: keys.b }), ids("second"));
  const last = appWith("c", keys);
  const third = await waitingTokens(last, ids("third"));
  const live = [...first.slice(0, count), ...second, ...third];
  const resumed = await statuses(createHandler(last), live);
  const withoutFirst = createHandler(appWith("c", { b: keys.b, c: keys.c }));
  const refused = await statuses(withoutFirst, first.slice(count));
  return {
    issued: live.length,
    resumed: resumed.filter((status) => status === 200).length,
    refused: refused.filter((status) => status === 404).length,
  };
}

async function statuses(handler: Handler, tokens: readonly string[]): Promise<number[]> {
  const found: number[] = [];
  for (const token of tokens) found.push((await handler(answerTo(token, "now"))).status);
  return found;
}
