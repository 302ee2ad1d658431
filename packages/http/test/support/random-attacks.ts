/**
 * Random attacks on the limits of bodies, on the check of origins, and on signed webhooks. Each is judged by rules of
 * its own, which do not use the code that is attacked. Used with small counts by a test, and with larger ones by
 * `npm run soak:attack`.
 */

import { createApp, durable, MemoryStorage } from "@durable/core";
import { createHandler, defaultLimits, type Handler, standardWebhooks, verifyWebhook } from "@durable/http";
import { type Random, seeded } from "@durable/testing";
import { labSecret } from "./lab.ts";
import { requestOf, signStandard } from "./signed.ts";

export interface Tried {
  readonly tried: number;
  /** How many attempts ended how. */
  readonly ends: Readonly<Record<string, number>>;
  /** What the attacker reached; there must be nothing. */
  readonly problems: readonly string[];
}

interface Count {
  readonly count: number;
  readonly seed: number;
}

type Attempt = (random: Random) => Promise<{ readonly end: string; readonly problem?: string | undefined }>;

async function repeat({ count, seed }: Count, attempt: Attempt): Promise<Tried> {
  const ends: Record<string, number> = {};
  const problems: string[] = [];
  let tried = 0;
  for (; tried < count && problems.length === 0; tried++) {
    const { end, problem } = await attempt(seeded(seed + tried));
    ends[end] = (ends[end] ?? 0) + 1;
    if (problem !== undefined) problems.push(`seed ${seed + tried}: ${problem}`);
  }
  return { tried, ends, problems };
}

function handlerOf(): Handler {
  const nothing = durable("nothing", () => null);
  const app = createApp({ storage: new MemoryStorage(), secret: labSecret, workflows: [nothing] });
  return createHandler(app, { authorize: () => true });
}

const post = (body: string, headers: Record<string, string> = {}): Request =>
  new Request("http://lab.example/runs", {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body,
  });

/** Most CPU time for a body of 1 MiB. The clock would also count what other processes do. */
const mostMs = 2_000;

/** Bodies of many, deep or long values: each over a limit is refused, each within all limits is not. */
export function attackBodies(options: Count): Promise<Tried> {
  return repeat(options, async (random) => {
    const handler = handlerOf();
    const input = random.pick([repeated, nested, mixed])(random);
    const body = `{"workflow":"nothing","input":${input}}`;
    const isOver = body.length > defaultLimits.bytes || isOverLimits(JSON.parse(body));
    const began = process.threadCpuUsage();
    const { status } = await handler(post(body));
    const ms = process.threadCpuUsage(began).user / 1_000;
    const end = String(status);
    if (ms > mostMs) return { end, problem: `${body.length} bytes took ${Math.round(ms)} ms` };
    const fits = isOver ? status === 400 || status === 413 : status === 202;
    return { end, problem: fits ? undefined : `${body.slice(0, 100)} was answered with ${status}` };
  });
}

/** Like the limits of the handler, counted on the value. */
function isOverLimits(value: unknown): boolean {
  let [nodes, keys] = [0, 0];
  const list: (readonly [unknown, number])[] = [[value, 1]];
  for (let next = list.pop(); next !== undefined; next = list.pop()) {
    const [item, depth] = next;
    nodes += 1;
    if (typeof item !== "object" || item === null) continue;
    if (depth > defaultLimits.depth) return true;
    const names = Array.isArray(item) ? 0 : Object.keys(item).length;
    keys += names;
    nodes += names;
    for (const part of Object.values(item)) list.push([part, depth + 1]);
  }
  return nodes > defaultLimits.nodes || keys > defaultLimits.keys;
}

function repeated(random: Random): string {
  const piece = random.pick([
    "[]",
    "{}",
    "1",
    '""',
    "[[]]",
    '{"a":1}',
    '"],["',
    "null",
    " [ ] ",
    String.raw`"\",["`,
  ]);
  return `[${Array.from({ length: random.between(1, 10) ** random.between(1, 5) }, () => piece).join(",")}]`;
}

function nested(random: Random): string {
  const depth = random.between(1, 80) * random.pick([1, 1, 1, 50]);
  const [open, close] = random.pick([
    ["[", "]"],
    ['{"a":', "}"],
    ['["[",', "]"],
  ] as const);
  return open.repeat(depth) + "1" + close.repeat(depth);
}

function mixed(random: Random): string {
  const one = (depth: number): unknown => {
    if (depth === 0 || random.chance(0.3)) return random.pick([1, "a,b:[{", null, true, ""]);
    const parts = Array.from({ length: random.between(0, 6) }, () => one(depth - 1));
    return random.chance(0.5) ? parts : Object.fromEntries(parts.map((part, i) => [`k${i}`, part]));
  };
  return JSON.stringify(one(random.between(1, 7)), null, random.pick([0, 2]));
}

const hosts = [
  "app.example",
  "app.example:8080",
  "x.app.example",
  "evil.example",
  "127.0.0.1:3000",
  "[::1]:3000",
];

/** Requests with every mixture of Sec-Fetch-Site, Origin and Host: one of another origin changes nothing. */
export function attackOrigins(options: Count): Promise<Tried> {
  const handler = handlerOf();
  return repeat(options, async (random) => {
    const site = random.pick([
      null,
      null,
      "same-origin",
      "same-site",
      "cross-site",
      "none",
      "same-origin, none",
    ]);
    const [asked, page] = [random.pick(hosts), random.pick([...hosts, null, "null", "evil"])];
    const scheme = random.pick(["http", "https"]);
    const origin =
      page === null || (!page.includes(".") && !page.startsWith("[")) ? page : `${scheme}://${page}`;
    const headers = {
      host: asked,
      ...(site === null ? {} : { "sec-fetch-site": site }),
      ...(origin === null ? {} : { origin }),
    };
    const { status } = await handler(post('{"workflow":"nothing"}', headers));
    const isOwn =
      site === null ? origin === null || page === asked : site === "same-origin" || site === "none";
    const fits = status === (isOwn ? 202 : 403);
    return { end: String(status), problem: fits ? undefined : `${JSON.stringify(headers)} got ${status}` };
  });
}

/** The signed text of a Standard Webhook, cut at another dot: never another message. */
export function attackWebhooks(options: Count): Promise<Tried> {
  const key = Buffer.from("a key of the sender of 32 bytes!");
  const at = 1_700_000_000;
  const profile = standardWebhooks({ secrets: `whsec_${key.toString("base64")}` });
  return repeat(options, async (random) => {
    const time = (): string => String(at + random.between(-200, 200));
    const id = random.pick(["msg", "msg_1", "m-2"]);
    const body = Array.from({ length: random.between(0, 4) }, () =>
      random.pick([time(), "{}", "x", ""]),
    ).join(".");
    const signed = signStandard(key, id, Number(time()), body);
    const parts = `${id}.${signed.headers["webhook-timestamp"]}.${body}`.split(".");
    const cut = random.between(1, parts.length);
    const request = requestOf({
      body: parts.slice(cut + 1).join("."),
      headers: {
        ...signed.headers,
        "webhook-id": parts.slice(0, cut).join("."),
        "webhook-timestamp": parts[cut] ?? time(),
      },
    });
    try {
      const message = await verifyWebhook(request, { profile, now: () => at * 1_000 });
      const isSame = message.id === id && message.text() === body;
      return { end: isSame ? "itself" : "another", problem: isSame ? undefined : `taken as ${message.id}` };
    } catch {
      return { end: "refused" };
    }
  });
}
