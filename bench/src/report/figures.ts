/** Medians and ratios, from the raw measurements. */

import { subjects, type Subject } from "../catalog.ts";
import { workloads, type Workload, type WorkloadId } from "../workloads.ts";
import { median } from "./format.ts";
import type { Cell, Report } from "./report.ts";

/** The figures of a report, by workload and subject. */
export class FiguresOf {
  readonly report: Report;
  readonly workloads: readonly Workload[];
  readonly subjects: readonly Subject[];
  readonly #cells: ReadonlyMap<string, Cell>;

  constructor(report: Report) {
    this.report = report;
    this.#cells = new Map(report.cells.map((cell) => [`${cell.workload} ${cell.subject}`, cell]));
    this.workloads = workloads.filter(({ id }) => report.cells.some(({ workload }) => workload === id));
    this.subjects = subjects.filter(({ name }) => report.cells.some(({ subject }) => subject === name));
  }

  /** Why a subject has no figure in a workload. */
  skipped(workload: WorkloadId, subject: string): string | undefined {
    return this.#cells.get(`${workload} ${subject}`)?.skipped;
  }

  /** The median of all rounds, less a bare start of the same round where the workload asks for it. */
  value(workload: WorkloadId, subject: string, figure = "value"): number {
    const rounds = this.#cells.get(`${workload} ${subject}`)?.rounds ?? [];
    const bare = this.#cells.get(`${workload} bare`)?.rounds ?? [];
    const over = figure === "value" && workloads.find(({ id }) => id === workload)?.overBare === true;
    const isBare = subject === "bare";
    const values = rounds.map(
      (round, i) => (round[figure] ?? Number.NaN) - (over && !isBare ? (bare[i]?.value ?? 0) : 0),
    );
    return values.length === 0 ? Number.NaN : median(values.filter((value) => !Number.isNaN(value)));
  }

  /** The best peer that syncs every step. */
  bestPeer(workload: Workload): { readonly subject: Subject; readonly value: number } | undefined {
    const synced = this.subjects
      .filter(({ role, syncsEachStep }) => role === "peer" && syncsEachStep)
      .map((subject) => ({ subject, value: this.value(workload.id, subject.name) }))
      .filter(({ value }) => Number.isFinite(value));
    const sign = workload.better === "more" ? -1 : 1;
    return synced.toSorted((a, b) => sign * (a.value - b.value))[0];
  }
}
