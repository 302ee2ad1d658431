/** Finds runs: by a reference of one run, and by a filter. */

import type { App, ListedRun, RunStatus } from "@durable/core";
import type { Flags } from "./command.ts";
import { CliError, exit } from "./exit.ts";

/** How many runs a search by part of an id reads at most. */
const searched = 20_000;
const page = 500;

const marks: Readonly<Record<string, RunStatus | undefined>> = {
  "@last": undefined,
  "@failed": "failed",
  "@suspended": "suspended",
  "@paused": "paused",
  "@blocked": "blocked",
  "@running": "running",
};

/** The id of the run that a reference means. */
export async function findRun(app: App, reference: string): Promise<string> {
  if (reference.startsWith("@")) return marked(app, reference);
  if (await exists(app, reference)) return reference;
  const found: ListedRun[] = [];
  let looked = 0;
  for await (const head of allRuns(app)) {
    if (head.runId.startsWith(reference) || head.runId.endsWith(reference)) found.push(head);
    if (++looked >= searched || found.length > 8) break;
  }
  if (found.length === 1) return found[0]?.runId ?? "";
  if (found.length === 0) throw missing(`There is no run "${reference}" in this storage. Type durable ls.`);
  const ids = found.slice(0, 8).map(({ runId }) => runId);
  throw new CliError(`"${reference}" means several runs: ${ids.join(", ")}. Type more of the id.`, {
    exit: exit.usage,
    code: "ambiguous-id",
  });
}

async function marked(app: App, reference: string): Promise<string> {
  if (!Object.hasOwn(marks, reference))
    throw new CliError(`${reference} is not known. Use ${Object.keys(marks).join(", ")}.`);
  const { runs } = await app.list({ status: marks[reference], limit: 1 });
  const [first] = runs;
  if (first !== undefined) return first.runId;
  throw missing(reference === "@last" ? "There are no runs yet." : `No run is ${reference.slice(1)}.`);
}

async function exists(app: App, runId: string): Promise<boolean> {
  try {
    await app.get(runId).entries({ limit: 0 });
    return true;
  } catch (error) {
    const { code } = (error ?? {}) as { code?: unknown };
    // A run that cannot be read is there: the command says why it cannot.
    return code !== "not-found" && code !== "invalid-id";
  }
}

function missing(message: string): CliError {
  return new CliError(message, { exit: exit.notFound, code: "not-found" });
}

/** A filter of runs. */
export interface Filter {
  readonly status?: RunStatus | undefined;
  readonly workflow?: string | undefined;
  readonly parent?: string | undefined;
  readonly label?: string | undefined;
  readonly tags?: Readonly<Record<string, string>> | undefined;
  readonly version?: string | undefined;
  readonly q?: string | undefined;
  readonly since?: number | undefined;
  readonly before?: number | undefined;
}

const statuses = ["running", "suspended", "paused", "blocked", "completed", "failed", "cancelled"];
const fields = ["status", "workflow", "parent", "label", "version", "q", "since", "before"] as const;

/** The filter that options describe. A field of --where counts where the option of that name is missing. */
export function filterOf(flags: Flags, now: number): Filter {
  const where = new Map<string, string>();
  for (const part of (flags.text("where") ?? "").split(/\s+/).filter(Boolean)) {
    const [, field = "", value = ""] = /^([a-z]+):(.+)$/.exec(part) ?? [];
    if (!(fields as readonly string[]).includes(field))
      throw new CliError(`"${part}" is not a filter. Use ${fields.map((name) => `${name}:...`).join(" ")}`);
    where.set(field, value);
  }
  const given = (name: (typeof fields)[number]): string | undefined => flags.text(name) ?? where.get(name);
  const status = given("status");
  if (status !== undefined && !statuses.includes(status))
    throw new CliError(`"${status}" is not a status. Use ${statuses.join(", ")}.`);
  const ago = (name: "since" | "before"): number | undefined => {
    const text = given(name);
    return text === undefined ? undefined : now - lengthOf(text, name);
  };
  return {
    status: status as RunStatus | undefined,
    workflow: given("workflow"),
    parent: given("parent"),
    label: given("label"),
    tags: tagsOf(flags.list("tag")),
    version: given("version"),
    q: given("q"),
    since: ago("since"),
    before: ago("before"),
  };
}

function tagsOf(given: readonly string[]): Readonly<Record<string, string>> | undefined {
  const tags = given.map((text): [string, string] => {
    const [, name, value] = /^([^=]+)=(.*)$/.exec(text) ?? [];
    if (name === undefined || value === undefined)
      throw new CliError(`"${text}" is not a tag. Use --tag name=value.`);
    return [name, value];
  });
  return tags.length === 0 ? undefined : Object.fromEntries(tags);
}

const units: Readonly<Record<string, number>> = { s: 1e3, m: 6e4, h: 36e5, d: 864e5, w: 6048e5 };

function lengthOf(text: string, name: string): number {
  const [, amount = "", unit = ""] = /^(\d+(?:\.\d+)?)\s*([smhdw])$/.exec(text) ?? [];
  const length = Number(amount) * (units[unit] ?? Number.NaN);
  if (Number.isFinite(length) && amount !== "") return length;
  throw new CliError(`"${text}" is not a length of time for ${name}. Use 30s, 15m, 6h, 7d or 2w.`);
}

/** True when a filter chooses everything. */
export function isEmpty(filter: Filter): boolean {
  return Object.values(filter).every((value) => value === undefined);
}

/** Runs that a filter chooses, newest first. */
export async function* allRuns(app: App, filter: Filter = {}): AsyncGenerator<ListedRun, void, undefined> {
  const { status, workflow, parent, label, since, before = Infinity, tags, version, q } = filter;
  const query = { status, workflow, parent, tags, version, q, createdAfter: since, limit: page };
  for (let cursor: string | null = null; ;) {
    const { runs, next } = await app.list({ ...query, cursor });
    for (const head of runs) {
      const fits = head.updatedAt <= before;
      if (fits && (label === undefined || head.label === label)) yield head;
    }
    if (next === null) return;
    cursor = next;
  }
}

/** An id for screens: of a random part only the beginning. `findRun` accepts it. */
export function shortId(runId: string): string {
  const random = /[a-z2-7]{20,}$/.exec(runId);
  return random === null ? runId : runId.slice(0, random.index + 8);
}
