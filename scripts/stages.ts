/**
 * The one list of what must hold before a change goes in. Each stage is a script of package.json. `npm run verify`
 * runs all of them in this order, and so does `.ci/run`.
 */

export type Stage = {
  /** The script. */
  readonly name: string;
  /** Time limit, applied when the whole run is limited, so that a stage that hangs leaves time for the others. */
  readonly seconds: number;
  /** It writes vitest's JSON report to the file that TEST_REPORT names, and its tests are counted. */
  readonly counts?: boolean;
};

export const stages: readonly Stage[] = [
  { name: "test", seconds: 840, counts: true },
  { name: "format:check", seconds: 60 },
  { name: "lint", seconds: 180 },
  { name: "boundaries", seconds: 60 },
  { name: "types", seconds: 180 },
  { name: "knip", seconds: 120 },
  { name: "lock:check", seconds: 120 },
  { name: "prose:check", seconds: 60 },
  { name: "build", seconds: 120 },
  { name: "exports:check", seconds: 60 },
  { name: "size", seconds: 60 },
  { name: "packages:check", seconds: 120 },
  { name: "consumers:check", seconds: 540 },
  { name: "docs:check", seconds: 300 },
  { name: "test:full", seconds: 3_000, counts: true },
];
