/** Bounds that a long test keeps: a line for each with its figure, and the exit code 1 when one is broken. */

export interface Bound {
  readonly least?: number;
  readonly most?: number;
  readonly unit?: string;
}

const lines: string[] = [];

const show = (figure: number, unit = ""): string =>
  `${Number.isInteger(figure) ? figure : figure.toFixed(2)}${unit === "" ? "" : ` ${unit}`}`;

/** A figure that is no number breaks its bound. */
export function keep(
  what: string,
  figure: number,
  { least = -Infinity, most = Infinity, unit }: Bound,
): void {
  const kept = figure >= least && figure <= most;
  if (!kept) process.exitCode = 1;
  const bounds = [
    ...(least > -Infinity ? [`at least ${show(least, unit)}`] : []),
    ...(most < Infinity ? [`at most ${show(most, unit)}`] : []),
  ];
  lines.push(`${kept ? "kept  " : "BROKEN"} ${what}: ${show(figure, unit)} (${bounds.join(", ")})`);
}

/** A bound that these arguments cannot judge. */
export function leaveOut(what: string, why: string): void {
  lines.push(`left   ${what}: not judged, ${why}`);
}

export function sayBounds(): void {
  console.log(`\n${lines.join("\n")}`);
}

const began = performance.now();

/** Says on stderr how far a long work is. */
export function progress(line: string): void {
  console.error(`${((performance.now() - began) / 1_000).toFixed(0).padStart(6)} s  ${line}`);
}
