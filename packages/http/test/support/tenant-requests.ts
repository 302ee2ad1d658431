/** Random requests of a tenant that attacks another one through the routes of one handler. */

import type { Random } from "@durable/testing";
import { origin } from "./lab.ts";

/** What the attacker knows. */
export interface Known {
  /** Ids of its own runs, children and forks included. */
  readonly own: readonly string[];
  /** Ids of the other tenant, among them some that the other will use next. */
  readonly foreign: readonly string[];
  /** Tokens that it may use, and those that it found in responses. */
  readonly tokens: string[];
  /** Tokens of the other tenant with another signature, which an attacker could at best compose. */
  readonly composed: readonly string[];
}

/** A request of the attacker: `own` ids half of the time, so that much of it is allowed. */
export function hostileRequest(random: Random, known: Known): Request {
  return random.pick(routes)(random, known);
}

type Make = (random: Random, known: Known) => Request;

const keys = ["approve", "act", "say", "words", "review", "review/approve", "draft", "nothing", "__proto__"];
const workflows = ["review", "talk", "family", "echo", "unknown"];
const statuses = ["running", "suspended", "blocked", "completed", "failed", "cancelled"];

function idOf(random: Random, { own, foreign }: Known): string {
  return random.chance(0.5) ? random.pick(own) : random.pick(foreign);
}

/** A run of this workflow, whose keys the attacker knows. */
function runOf(random: Random, workflow: string): string {
  return `${random.pick(["a", "b"])}-${workflow}`;
}

/** An id in a path: as it is, escaped, or with tricks around it. */
function segment(random: Random, known: Known): string {
  const id = idOf(random, known);
  return random.pick([
    () => id,
    () => id,
    () => id,
    () => id.replace(/[a-z]/, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
    () => `${random.pick(known.own)}%2F..%2F${id}`,
    () => `${random.pick(known.own)}/../${id}`,
    () => id.toUpperCase(),
    () => `${id}%00`,
    () => ` ${id}`,
  ])();
}

/** Values that look like the encoded form of a journal, like blobs, or like options. */
function valueOf(random: Random, known: Known): unknown {
  return random.pick<() => unknown>([
    () => true,
    () => ({ approved: true }),
    () => ({ $: "ref", ref: idOf(random, known) }),
    () => ({ $: "object", value: { $: "secret", name: "x" } }),
    () => ({ $: "sparse", length: 100_000_000 }),
    () => ["~blob", idOf(random, known)],
    // Not by the name of the field, which would look like a run in a response.
    () => ({ id: random.pick(known.foreign), childOf: { id: random.pick(known.foreign), key: "review" } }),
    () => [{ type: "words", text: "mine" }],
    () => JSON.parse('{"__proto__":{"approved":true}}') as unknown,
    () => null,
    () => random.between(0, 9),
  ])();
}

function post(path: string, body: unknown): Request {
  return new Request(origin + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

function get(path: string, headers: Record<string, string> = {}): Request {
  return new Request(origin + path, { headers });
}

/** Members that are there or not. */
function some(random: Random, members: Readonly<Record<string, () => unknown>>): Record<string, unknown> {
  const chosen = Object.entries(members).filter(() => random.chance(0.4));
  return Object.fromEntries(chosen.map(([name, make]) => [name, make()]));
}

const start: Make = (random, known) =>
  post("/runs", {
    workflow: random.pick(workflows),
    ...(random.chance(0.9) ? { id: idOf(random, known) } : {}),
    ...some(random, { input: () => valueOf(random, known) }),
    // Not a member of a start: refused.
    ...(random.chance(0.1) ? { childOf: { runId: "b-family", key: "review", after: 1 } } : {}),
  });

const list: Make = (random, known) => {
  const query = new URLSearchParams();
  for (const [name, make] of [
    ["parent", () => idOf(random, known)],
    ["parent", () => idOf(random, known)],
    ["workflow", () => random.pick(workflows)],
    ["status", () => random.pick(statuses)],
    ["limit", () => String(random.between(1, 1_000))],
    ["cursor", () => idOf(random, known)],
  ] as const)
    if (random.chance(0.35)) query.append(name, make());
  return get(`/runs?${query}`);
};

const read: Make = (random, known) => get(`/runs/${segment(random, known)}`);
const entries: Make = (random, known) =>
  get(
    `/runs/${segment(random, known)}/entries?after=${random.between(0, 9)}&limit=${random.between(1, 1_000)}`,
  );
const stream: Make = (random, known) =>
  get(
    random.chance(0.5)
      ? `/runs/${runOf(random, "talk")}/streams/words`
      : `/runs/${segment(random, known)}/streams/${encodeURIComponent(random.pick(keys))}`,
    random.chance(0.3) ? { "last-event-id": `${random.between(1, 2)}:${random.between(0, 5)}` } : {},
  );

function forkBody(random: Random, known: Known): Record<string, unknown> {
  return some(random, {
    from: () => random.pick(keys),
    after: () => [random.pick(keys), random.pick(keys)],
    edit: () =>
      Object.fromEntries(
        Array.from({ length: random.between(1, 3) }, () => [random.pick(keys), valueOf(random, known)]),
      ),
    input: () => valueOf(random, known),
    label: () => "theirs",
    id: () => idOf(random, known),
  });
}

const fork: Make = (random, known) => post(`/runs/${segment(random, known)}/fork`, forkBody(random, known));
/** The most dangerous forks: an answer, or the work of a run again, under a chosen id. */
const answerByFork: Make = (random, known) =>
  post(`/runs/${runOf(random, "review")}/${random.pick(["fork", "plan"])}`, {
    edit: { approve: { approved: true } },
    id: random.pick(["a-fork", idOf(random, known)]),
  });
const workByFork: Make = (random, known) =>
  post(`/runs/${runOf(random, "talk")}/fork`, {
    from: "draft",
    id: random.pick(["a-fork", "b-next", idOf(random, known)]),
  });
const plan: Make = (random, known) => post(`/runs/${segment(random, known)}/plan`, forkBody(random, known));
const cancel: Make = (random, known) =>
  post(`/runs/${segment(random, known)}/cancel`, some(random, { reason: () => "because" }));

function token(random: Random, { tokens, composed }: Known): string {
  const one = random.pick(random.chance(0.3) ? tokens : composed);
  return random.chance(0.3) ? one.toUpperCase() : one;
}

const resume: Make = (random, known) =>
  post(`/resume/${token(random, known)}`, {
    value: valueOf(random, known),
    ...some(random, { id: () => "again" }),
  });
const confirm: Make = (random, known) => get(`/resume/${token(random, known)}?value=true`);
const describe: Make = () => get("/openapi.json");

/** Another method on any path. */
const other: Make = (random, known) => {
  const { url } = random.pick([start, read, entries, stream, fork, cancel, confirm])(random, known);
  return new Request(url, { method: random.pick(["DELETE", "PUT", "PATCH", "HEAD", "OPTIONS"]) });
};

const routes: readonly Make[] = [
  start,
  start,
  list,
  read,
  entries,
  stream,
  fork,
  fork,
  answerByFork,
  answerByFork,
  workByFork,
  plan,
  cancel,
  resume,
  confirm,
  describe,
  other,
];
