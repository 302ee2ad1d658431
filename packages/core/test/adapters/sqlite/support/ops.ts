/** Operations on a storage, made up from a seed. Each makes sense wherever it stands, so that a list can be shortened. */

import type { AppendRequest, ListQuery, RunHead, RunStatus } from "../../../../src/ports/storage.ts";
import { seeded } from "./samples.ts";

export interface AppendOp {
  readonly op: "append";
  readonly run: string;
  /** How far from where the journal ends: 0 is right. */
  readonly off: number;
  /** By a driver of a run that had the id before. */
  readonly stale: boolean;
  readonly state: Pick<RunHead, "status" | "wakeAt" | "updatedAt" | "steps">;
  /** For the first batch: what the run is about, and whose fork it is. */
  readonly about: Pick<RunHead, "workflow" | "label" | "createdAt"> & {
    readonly parents: readonly string[];
    /** From where it reads each of them. */
    readonly from?: number;
  };
  /** Whether a chapter begins with this batch. */
  readonly begins: boolean;
  readonly lease?: AppendRequest["lease"];
}

export type WriteOp =
  | AppendOp
  | { readonly op: "lease"; readonly run: string; readonly owner: string; readonly ttlMs: number }
  | { readonly op: "release"; readonly run: string; readonly owner: string; readonly quietMs?: number }
  /** `off` is how far the note is from where the journal ends: 0 is right. */
  | { readonly op: "note"; readonly run: string; readonly off: number; readonly message: string }
  | { readonly op: "drop"; readonly run: string; readonly before: number }
  | { readonly op: "delete"; readonly run: string }
  /** As a purge does: only if the run is as it was, `off` milliseconds later. */
  | { readonly op: "purge"; readonly run: string; readonly off: number };

export type Op =
  | WriteOp
  /** Writes that are under way together. */
  | { readonly op: "together"; readonly writes: readonly WriteOp[] }
  | { readonly op: "read"; readonly run: string; readonly from?: number }
  | { readonly op: "chapter"; readonly run: string }
  /** `page` goes on where the last list with the same kind of order ended. */
  | { readonly op: "list"; readonly query: ListQuery; readonly page: boolean }
  | { readonly op: "clock"; readonly ms: number };

const runs = ["r0", "r1", "r2", "r3", "r4", "r5", "r6"];
const owners = ["ann", "bob", "cat"];
const workflows = ["loan", "deploy", "ü/%_'\""];
const statuses = ["running", "suspended", "completed", "failed", "cancelled"] as const;
const listed: readonly RunStatus[] = [...statuses, "blocked"];
export const startOfTime = 1_000_000;

class Maker {
  readonly #next: () => number;
  constructor(seed: number) {
    this.#next = seeded(seed);
  }

  chance(p: number): boolean {
    return this.#next() < p;
  }

  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.#next() * list.length)] as T;
  }

  /** A time about now, rarely a whole number. */
  time(): number {
    return startOfTime + Math.round((this.#next() - 0.3) * 4_000) / 4;
  }

  op(): Op {
    const kind = this.#next();
    if (kind < 0.5) return this.write();
    if (kind < 0.58) {
      const writes = Array.from({ length: this.pick([2, 3, 6]) }, () => this.write());
      return { op: "together", writes };
    }
    if (kind < 0.72) {
      if (this.chance(0.3)) return { op: "chapter", run: this.pick(runs) };
      const from = this.pick([undefined, 0, 1, 2, 5, 100]);
      return { op: "read", run: this.pick(runs), ...(from === undefined ? {} : { from }) };
    }
    if (kind < 0.92) return { op: "list", query: this.query(), page: this.chance(0.4) };
    return { op: "clock", ms: this.pick([0, 1, 99, 100, 101, 1_000, 5_000]) };
  }

  write(): WriteOp {
    const run = this.pick(runs);
    const kind = this.#next();
    if (kind < 0.6) return this.append(run);
    if (kind < 0.66)
      return { op: "note", run, off: this.pick([0, 0, 0, -1, 1]), message: this.pick(["", 'it\'s "so"']) };
    if (kind < 0.72) return { op: "drop", run, before: this.pick([0, 1, 2, 3, 4]) };
    if (kind < 0.82)
      return { op: "lease", run, owner: this.pick(owners), ttlMs: this.pick([0, 1, 100, 1_000]) };
    if (kind < 0.92) {
      const quietMs = this.pick([undefined, 0, 100, 1_000]);
      return { op: "release", run, owner: this.pick(owners), ...(quietMs === undefined ? {} : { quietMs }) };
    }
    if (kind < 0.95) return { op: "purge", run, off: this.pick([0, 0, 1]) };
    return { op: "delete", run };
  }

  append(run: string): AppendOp {
    const claim = { owner: this.pick(owners), ttlMs: this.pick([100, 1_000]) };
    const lease = this.pick([undefined, undefined, null, claim]);
    return {
      op: "append",
      run,
      off: this.chance(0.85) ? 0 : this.pick([-2, -1, 1, 2]),
      stale: this.chance(0.05),
      state: {
        status: this.pick(statuses),
        wakeAt: this.pick([null, 0, this.time(), startOfTime]),
        updatedAt: this.time(),
        steps: this.pick([0, 1, 7]),
      },
      about: {
        workflow: this.pick(workflows),
        label: this.pick([null, "", "a label"]),
        createdAt: this.time(),
        parents: this.chance(0.4) ? runs.filter(() => this.chance(0.2)) : [],
        ...(this.chance(0.5) ? { from: this.pick([0, 1, 2, 3]) } : {}),
      },
      begins: this.chance(0.3),
      ...(lease === undefined ? {} : { lease }),
    };
  }

  query(): ListQuery {
    const query: { -readonly [K in keyof ListQuery]: ListQuery[K] } = {};
    if (this.chance(0.3)) query.workflow = this.pick([...workflows, "nobody's"]);
    if (this.chance(0.2)) query.workflow = [...workflows, "nobody's"].filter(() => this.chance(0.6));
    if (this.chance(0.3)) query.status = this.pick(listed);
    if (this.chance(0.2)) query.parent = this.pick(runs);
    if (this.chance(0.5)) query.dueAt = this.pick([0, this.time(), startOfTime, startOfTime + 100_000]);
    if (this.chance(0.2)) query.parent = runs.filter(() => this.chance(0.4));
    if (this.chance(0.3)) query.endedBefore = this.pick([0, this.time(), startOfTime + 100_000]);
    if (this.chance(0.7)) query.limit = this.pick([0, 1, 2, 3, 2.5, -1, 100, 100_000]);
    if (this.chance(0.05)) query.cursor = this.pick(["", "junk", "1", "1:2:3", "x:1", null]);
    return query;
  }
}

export function randomOps(seed: number, count: number): Op[] {
  const maker = new Maker(seed);
  return Array.from({ length: count }, () => maker.op());
}
