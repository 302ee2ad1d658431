/** The parts of the project that get a score of their own. Every source file is in the first one that fits. */
import { globSync } from "node:fs";

const patterns = {
  forks: /^core\/src\/(?:runs\/(?:fork)|journal\/(?:lineage|ancestors)|inspect\/(?:diff|plan))/,
  engine: /^core\/src\/engine\//,
  runs: /^core\/src\/(?:(?:runs|worker)\/|[\w-]+\.ts$)/,
  schedules: /^core\/src\/schedules\//,
  storages: /^(?:core\/src\/(?:adapters|ports)|s3\/src|cloudflare\/src)\//,
  journal: /^core\/src\//,
  postgres: /^postgres\/src\//,
  http: /^(?:http|ai-sdk)\/src\//,
  dashboard: /^dashboard\/src\//,
  cli: /^(?:cli|otel)\/src\//,
} as const;

export type Area = keyof typeof patterns;

export const areas: readonly Area[] = [
  "runs",
  "engine",
  "journal",
  "schedules",
  "postgres",
  "forks",
  "storages",
  "http",
  "dashboard",
  "cli",
];

export function isArea(text: string): text is Area {
  return text in patterns;
}

/** `null` for what helps others to test. */
export function areaOf(file: string): Area | null {
  const path = file.replace(/^packages\//, "");
  const all = Object.entries(patterns) as [Area, RegExp][];
  return all.find(([, pattern]) => pattern.test(path))?.[0] ?? null;
}

export function filesOf(root: string, area: Area): string[] {
  return globSync("packages/*/src/**/*.ts", { cwd: root })
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => areaOf(path) === area)
    .toSorted();
}
