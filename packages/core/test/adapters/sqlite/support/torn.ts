/**
 * H12 by numbers: images are judged in a process of their own, so that one which hangs, or takes the process with it,
 * is found and named as well. Any of them can be seen again alone: it follows from seed and number.
 */

import { Child } from "../../../support/child-process.ts";
import type { ImageResult, Part } from "./images.ts";

export interface TornReport {
  images: number;
  /** By what they gave: everything, a shorter history, or an error of ours. */
  whole: number;
  shorter: number;
  refused: number;
  /** Images with a record that was never written. Must be 0. */
  changed: number;
  /** Images of which a list has lost runs that can still be read. */
  unlisted: number;
  readonly parts: Record<Part, number>;
  /** The first faults, in words. */
  readonly faults: string[];
}

export interface TornOptions {
  readonly images: number;
  readonly seed: number;
  readonly progress?: (report: Readonly<TornReport>) => void;
}

/** Nothing that an image can be asked takes a hundredth of this. */
const hangMs = 60_000;

export async function tearFiles({ images, seed, progress }: TornOptions): Promise<Readonly<TornReport>> {
  const parts = { log: 0, file: 0, closed: 0 };
  const sums = { images: 0, whole: 0, shorter: 0, refused: 0, changed: 0, unlisted: 0 };
  const report: TornReport = { ...sums, parts, faults: [] };
  const child = new Child("sqlite-child-images.ts", [String(seed), String(images)]);
  try {
    for (let n = 0; n < images; n++) {
      const line = await inTime(child.line(`image ${n} `, n), `image ${n} of seed ${seed}`);
      count(report, n, JSON.parse(line) as ImageResult);
      progress?.(report);
    }
    await child.done();
  } finally {
    await child.kill();
  }
  return report;
}

function count(report: TornReport, n: number, { part, gave, changed, unlisted }: ImageResult): void {
  report.images += 1;
  report.parts[part] += 1;
  if (gave === "whole" || gave === "shorter") report[gave] += 1;
  else report.refused += 1;
  if (unlisted > 0) report.unlisted += 1;
  if (changed.length === 0) return;
  report.changed += 1;
  if (report.faults.length < 10) report.faults.push(`image ${n} (${part}, ${gave}): ${changed.join("; ")}`);
}

async function inTime<T>(work: Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} hangs`)), hangMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
