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

  /** The median of all rounds. */
  value(workload: WorkloadId, subject: string, figure = "value"): number {
    const rounds = this.#cells.get(`${workload} ${subject}`)?.rounds ?? [];
    const values = rounds.flatMap((round) => round[figure] ?? []);
    return values.length === 0 ? Number.NaN : median(values);
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
