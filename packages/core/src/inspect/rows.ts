/** The rows of a run: its calls as a tree of groups and branches, in the order in which they began. */

import { isDeadline } from "../journal/keys.ts";
import { materialize } from "../journal/lineage.ts";
import { sumUsage } from "../values/usage.ts";
import type { RunEntry } from "../journal/outcome.ts";
import type { Doing } from "../runs/under-way.ts";
import { firstWords } from "./words.ts";
import { draftOf, emptyDraft, learn, learnDoing, type Draft, type RowView } from "./row.ts";

export interface RowOptions {
  /** Entries up to this position were inherited from the parent of a fork. */
  readonly base: number;
  readonly edited: ReadonlySet<string>;
  /** When the run ended; `null` while it has not. */
  readonly endedAt: number | null;
  /** True when keys are not paths. */
  readonly flat: boolean;
  /** The keys of the turns of agents, in order. */
  readonly turns: readonly string[];
  /** What is under way. */
  readonly doing?: readonly Doing[] | undefined;
}

interface Node {
  readonly row: Draft;
  readonly children: Node[];
  /** Breaks ties between rows that began in the same millisecond. */
  readonly order: number;
}

/** The rows of these entries, parents before their children. */
export function rowsOf(entries: readonly RunEntry[], options: RowOptions): RowView[] {
  const tree = new Tree(options.flat);
  for (const entry of materialize(entries)) {
    const isShown = "key" in entry && entry.kind !== "tag.set" && entry.kind !== "report.set";
    if (!isShown || isDeadline(entry.key)) continue;
    const { row } = tree.nodeOf(entry.key, () => draftOf(entry));
    learn(row, entry);
  }
  for (const doing of options.doing ?? []) {
    const { key, kind, since } = doing;
    learnDoing(tree.nodeOf(key, () => emptyDraft(key, kind, since)).row, doing);
  }
  options.turns.forEach((key, i) => tree.number(key, i + 1));
  const rows: RowView[] = [];
  for (const node of tree.top) finish(node, options);
  for (const node of inOrder(tree.top)) flatten(node, { depth: 0, parent: null }, rows);
  return rows;
}

class Tree {
  readonly top: Node[] = [];
  readonly #nodes = new Map<string, Node>();
  readonly #flat: boolean;

  constructor(flat: boolean) {
    this.#flat = flat;
  }

  /** The node of a key. Groups and branches above it are added where they are missing. */
  nodeOf(key: string, make: () => Draft): Node {
    const known = this.#nodes.get(key);
    if (known !== undefined) return known;
    const node: Node = { row: make(), children: [], order: this.#nodes.size };
    this.#nodes.set(key, node);
    const above = this.#flat ? null : containerOf(key);
    const parent = above === null ? null : this.nodeOf(above, () => containerRow(above, node.row.startedAt));
    (parent?.children ?? this.top).push(node);
    return node;
  }

  /** The row of this key is a turn. */
  number(key: string, turn: number): void {
    const row = this.#nodes.get(key)?.row;
    if (row !== undefined) Object.assign(row, { turn, words: firstWords(row.value) });
  }
}

/** The row that contains a key: the branch of a call, the group of a branch, the step of a question about it. */
function containerOf(key: string): string | null {
  if (key.endsWith("]")) return key.slice(0, key.lastIndexOf("["));
  const slash = key.lastIndexOf("/");
  return slash <= 0 ? null : key.slice(0, slash);
}

function containerRow(key: string, startedAt: number): Draft {
  if (key.endsWith("]")) return emptyDraft(key, "branch", startedAt);
  // A group writes its entry with the next one, so a call inside it may come first. Its entry says which kind it is.
  return emptyDraft(key, "parallel", startedAt);
}

function inOrder(nodes: readonly Node[]): Node[] {
  return nodes.toSorted((a, b) => a.row.startedAt - b.row.startedAt || a.order - b.order);
}

/** Works out what depends on rows inside, on the fork and on the end of the run. */
function finish({ row, children }: Node, options: RowOptions): void {
  for (const child of children) finish(child, options);
  const { base, edited, endedAt } = options;
  row.edited = edited.has(row.key);
  row.usage = sumUsage(row.usage);
  if (isContainer(row)) {
    contain(row, children, endedAt !== null);
  } else {
    row.fromJournal = row.edited || (row.seq !== null && row.seq <= base);
  }
  if (endedAt !== null && row.status === "registered") row.status = "closed";
  if (endedAt !== null && row.endedAt === null) {
    row.endedAt = Math.max(endedAt, row.startedAt);
    if (row.status === "open" || row.status === "retrying") row.status = "closed";
    const last = row.attempts.at(-1);
    if (last?.endedAt === null) row.attempts[row.attempts.length - 1] = { ...last, endedAt: row.endedAt };
  }
}

export function isContainer({ kind }: Pick<RowView, "kind">): boolean {
  return kind === "parallel" || kind === "race" || kind === "branch";
}

/** A group settles without an entry, so its times and its status are those of its rows. */
function contain(row: Draft, children: readonly Node[], over: boolean): void {
  const rows = children.map((child) => child.row);
  if (rows.length === 0) return;
  row.startedAt = Math.min(row.startedAt, ...minMax(rows, "startedAt"));
  row.fromJournal = rows.every(({ fromJournal }) => fromJournal);
  row.usage = sumUsage([...row.usage, ...rows.flatMap(({ usage }) => usage)]);
  const open = rows.some(({ endedAt }) => endedAt === null);
  if (open && !over) {
    row.status = rows.some(({ status }) => status === "retrying") ? "retrying" : "open";
    return;
  }
  row.endedAt = Math.max(
    ...minMax(
      rows.filter(({ endedAt }) => endedAt !== null),
      "endedAt",
    ),
    row.startedAt,
  );
  const failed = rows.some(({ status }) => status === "failed" || status === "expired");
  const closed = rows.every(({ status }) => status === "closed");
  row.status = failed && row.kind !== "race" ? "failed" : closed ? "closed" : "completed";
}

/** The lowest and the highest of a field, without spreading ten thousand arguments. */
function minMax(rows: readonly Draft[], field: "startedAt" | "endedAt"): number[] {
  let [low, high] = [Infinity, -Infinity];
  for (const row of rows) {
    const time = row[field] ?? 0;
    low = Math.min(low, time);
    high = Math.max(high, time);
  }
  return low === Infinity ? [] : [low, high];
}

function flatten(
  { row, children }: Node,
  place: { readonly depth: number; readonly parent: string | null },
  into: RowView[],
): void {
  into.push(Object.assign(row, place));
  const inside = { depth: place.depth + 1, parent: row.key };
  const ordered =
    row.kind === "parallel" || row.kind === "race" ? asDeclared(row, children) : inOrder(children);
  for (const child of ordered) flatten(child, inside, into);
}

/** Branches stay where the code has them, whichever begins first. */
function asDeclared({ branches }: Draft, children: readonly Node[]): Node[] {
  const places = new Map(Array.isArray(branches) ? branches.map((name, i) => [name, i]) : []);
  const place = ({ row: { name } }: Node): number => places.get(name) ?? Number(name);
  return children.toSorted((a, b) => place(a) - place(b) || a.order - b.order);
}
