/**
 * Making a fork (law 9): the parent is read once, one small batch is written, nothing is copied.
 * What the fork keeps follows from causes, not from order: see lineage.ts.
 */

import { encode } from "./codec/encode.ts";
import type { Json } from "./codec/tags.ts";
import type { Definition } from "./definition.ts";
import { writeFact } from "./batch.ts";
import type { Ancestor, Cut, Edit, Entry } from "./entry.ts";
import { DurableError } from "./errors.ts";
import type { Host } from "./host.ts";
import { Journal } from "./journal.ts";
import { assertRunId, isWithin, nameOf } from "./keys.ts";
import { limits } from "./limits.ts";
import { encodeInput } from "./open.ts";
import { isKept, isSettlement } from "./lineage.ts";
import { scrub } from "./secret.ts";

/** Where to go back to. Each key may be a bare name where that is unique. */
export interface ForkOptions<Input = unknown> {
  /** Runs this step again, and what depends on it. */
  readonly from?: string | readonly string[];
  /** Keeps this step, and runs again what depends on it. */
  readonly after?: string | readonly string[];
  /** Recorded outputs to replace, by key; what depends on them runs again. */
  readonly edit?: Readonly<Record<string, unknown>>;
  readonly input?: Input;
  /** A few words that tell this fork from its siblings. */
  readonly label?: string;
  readonly id?: string;
}

/** Writes the fork and returns its id; with the id of a fork of the same parent, that one is returned. */
export async function createFork(
  host: Host,
  definition: Definition,
  parent: Journal,
  options: ForkOptions,
): Promise<string> {
  const parentId = parent.runId;
  const runId = options.id ?? host.world.id();
  assertRunId(runId);
  const label = checkedLabel(options.label);
  const known = new Keys(parent);
  const edits = Object.entries(options.edit ?? {}).map(([name, value]) => known.edit(name, value));
  const cuts = [...known.cuts(options), ...edits.flatMap(({ cut }) => cut)];
  if (cuts.length === 0 && edits.length === 0) {
    throw new DurableError(
      "invalid-options",
      `A fork of run ${parentId} must know where to go back to: { from }, { after } or { edit }.`,
    );
  }
  const input = "input" in options ? { input: await encodeInput(definition, options.input) } : {};
  const fact = writeFact(
    {
      kind: "run.forked",
      runId,
      workflow: definition.name,
      version: definition.version,
      parent: parentId,
      label,
      base: parent.seq,
      ancestry: ancestryOf(parent, cuts),
      edits: edits.map(({ edit }) => edit),
      ...input,
    },
    host.world.now(),
  );
  const journal = Journal.create(runId, await host.journals());
  const appended = await journal.append([fact], { learn: false });
  if (appended.kind !== "landed" && journal.state.summary.parent !== parentId) {
    throw new DurableError(
      "conflict",
      `Run ${runId} exists and is no fork of ${parentId}. Choose another id.`,
    );
  }
  return runId;
}

function checkedLabel(label: string | undefined): string | null {
  if (label === undefined) return null;
  const text = typeof label === "string" ? scrub(label) : "\n";
  if (text.length <= limits.labelLength && !/\p{Cc}/u.test(text)) return text;
  throw new DurableError(
    "invalid-options",
    `A fork's label is a line of at most ${limits.labelLength} characters.`,
  );
}

/** The parent's ancestors and the parent itself, each with those of the new cuts that take something from it. */
function ancestryOf(parent: Journal, cuts: readonly Cut[]): Ancestor[] {
  const first = parent.entries.find((entry) => entry.kind === "run.forked");
  const above = first?.kind === "run.forked" ? first.ancestry : [];
  const base = (first?.seq ?? 1) - 1;
  const runs: readonly Ancestor[] = [
    ...above,
    { runId: parent.runId, length: parent.position, base, cuts: [] },
  ];
  const line = runs.map((run, i): Ancestor => {
    // What lies before the next of the line is this one's, or its ancestors'.
    const end = runs[i + 1]?.base ?? parent.seq;
    const theirs = parent.entries.filter((entry) => "key" in entry && entry.seq <= end) as CalledEntry[];
    return {
      ...run,
      cuts: [...run.cuts, ...cuts.filter((cut) => !theirs.every((entry) => isKept(entry, [cut])))],
    };
  });
  // A fork that gives nothing of its own is left out, so that depth costs no reads.
  const gives =
    first?.kind !== "run.forked" ||
    first.edits.length > 0 ||
    first.input !== undefined ||
    parent.entries.some((entry) => entry.seq > base && "key" in entry && isKept(entry, cuts));
  return gives ? line : line.slice(0, -1);
}

type CalledEntry = Entry & { key: string; after: number };

/** The parent's keys, for finding what a user means. */
class Keys {
  readonly #parent: Journal;
  readonly #recorded: readonly CalledEntry[];
  readonly #paths = new Set<string>();
  readonly #settled = new Map<string, number>();

  constructor(parent: Journal) {
    this.#parent = parent;
    this.#recorded = parent.entries.filter((entry) => "key" in entry);
    for (const entry of this.#recorded) {
      this.#paths.add(entry.key);
      for (let end = entry.key.length; (end = entry.key.lastIndexOf("/", end - 1)) > 0;)
        this.#paths.add(entry.key.slice(0, end));
      if (isSettlement(entry) && !this.#settled.has(entry.key)) this.#settled.set(entry.key, entry.seq);
    }
  }

  cuts(options: ForkOptions): Cut[] {
    const from = [options.from ?? []].flat().map((name): Cut => {
      const key = this.#find(name);
      return { key, at: this.#positions(key).reduce(lower, Number.MAX_SAFE_INTEGER), keep: false };
    });
    const after = [options.after ?? []].flat().map((name): Cut => {
      const key = this.#find(name);
      const positions = this.#positions(key);
      if (positions.length > 0) return { key, at: positions.reduce(higher), keep: true };
      throw new DurableError(
        "unknown-step",
        `"${key}" of run ${this.#parent.runId} has not settled, so nothing comes after it. Use { from } or { edit }.`,
      );
    });
    return [...from, ...after];
  }

  edit(name: string, value: unknown): { edit: Edit<Json>; cut: Cut[] } {
    const key = this.#find(name);
    const recorded = this.#recorded.filter((entry) => entry.key === key);
    const editable = recorded.find(({ kind }) => /^(step|attempt|suspend|stream|child)\./.test(kind));
    if (editable === undefined) {
      throw new DurableError("unknown-step", `"${key}" of run ${this.#parent.runId} has no output to edit.`);
    }
    const kind = kindOf(editable);
    if (kind === "stream" && !Array.isArray(value)) {
      throw new DurableError("invalid-options", `"${key}" is a stream: edit it with the list of its chunks.`);
    }
    const json = encode(value, `edited output of "${key}"`);
    const at = this.#settled.get(key);
    if (at !== undefined) return { edit: { key, value: json }, cut: [{ key, at, keep: true }] };
    const wait = "wait" in editable ? { wait: editable.wait } : {};
    const open = { after: editable.after, ...wait, ...(kind === null ? {} : { kind }) };
    return { edit: { key, value: json, open }, cut: [] };
  }

  #positions(path: string): number[] {
    return [...this.#settled].filter(([key]) => isWithin(key, path)).map(([, seq]) => seq);
  }

  #find(name: string): string {
    if (this.#paths.has(name)) return name;
    if ([...this.#paths].some((path) => path.startsWith(`${name}[`))) return name;
    const matches = [...this.#paths].filter((path) => nameOf(path) === name);
    const [only] = matches;
    if (matches.length === 1 && only !== undefined) return only;
    const { runId } = this.#parent;
    const near = matches.length > 1 ? matches : this.#near(name);
    const hint =
      near.length === 0
        ? "It has recorded no steps yet."
        : `${matches.length > 1 ? "Say which one" : "Did you mean"}: ${near.slice(0, 5).join(", ")}?`;
    throw new DurableError(
      "unknown-step",
      `Run ${runId} has ${matches.length > 1 ? "several steps" : "no step"} "${name}". ${hint}`,
      { details: { name, near } },
    );
  }

  /** Those that share most pairs of letters with what was asked for. */
  #near(name: string): string[] {
    const asked = new Set(pairs(name));
    const score = (path: string): number => {
      const own = pairs(nameOf(path));
      return own.filter((pair) => asked.has(pair)).length / (own.length + asked.size);
    };
    return [...this.#paths].toSorted((a, b) => score(b) - score(a));
  }
}

function kindOf(entry: CalledEntry): "stream" | "child" | null {
  if (entry.kind.startsWith("child.")) return "child";
  return entry.kind.startsWith("stream.") || (entry.kind === "attempt.failed" && entry.stream === true)
    ? "stream"
    : null;
}

function pairs(text: string): string[] {
  return Array.from(text, (letter, i) => letter + text.charAt(i + 1));
}

const lower = (a: number, b: number): number => Math.min(a, b);
const higher = (a: number, b: number): number => Math.max(a, b);
