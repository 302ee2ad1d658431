/** What must be known of the machine and of the versions to read the figures. No host name and no path. */

import { readFileSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { arch, availableParallelism, cpus, loadavg, platform, totalmem } from "node:os";
import type { Subject } from "../catalog.ts";
import { weightOf, type Weight } from "./weight.ts";

export interface Machine {
  readonly os: string;
  readonly arch: string;
  readonly cores: number;
  readonly cpu: string;
  readonly memoryGb: number;
  readonly node: string;
  /** Processes that wanted to run at the end, as an average over 15 minutes: more than the cores means a busy machine. */
  readonly load: number;
}

export function machine(): Machine {
  return {
    os: platform(),
    arch: arch(),
    cores: availableParallelism(),
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    memoryGb: Math.round(totalmem() / 2 ** 30),
    node: process.versions.node,
    load: Math.round((loadavg()[2] ?? 0) * 10) / 10,
  };
}

/** The version of each package that is measured, as installed. */
export function versionsOf(subjects: readonly Subject[]): Record<string, string> {
  return Object.fromEntries(packagesOf(subjects).map((name) => [name, versionOf(name)]));
}

/** What an install of each package that is measured brings. */
export function weightsOf(subjects: readonly Subject[]): Record<string, Weight> {
  return Object.fromEntries(
    packagesOf(subjects).flatMap((name) => {
      const weight = weightOf(name);
      return weight === null ? [] : [[name, weight]];
    }),
  );
}

function packagesOf(subjects: readonly Subject[]): string[] {
  return [...new Set(subjects.flatMap(({ package: name }) => (name === undefined ? [] : [name])))];
}

function versionOf(name: string): string {
  try {
    const file = findPackageJSON(name, import.meta.url);
    if (file === undefined) return "not installed";
    return String((JSON.parse(readFileSync(file, "utf8")) as { version?: string }).version);
  } catch {
    return "not installed";
  }
}
