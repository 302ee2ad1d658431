/** What a sample says: a share, and how far the true one may be from it. */

export type Score = { readonly noticed: number; readonly judged: number };

/** Bounds of a share with a confidence of 95 %, after Wilson: sensible also for few mutants, and for all or none. */
export function wilson({ noticed, judged }: Score): [low: number, high: number] {
  if (judged === 0) return [0, 1];
  const z = 1.96;
  const share = noticed / judged;
  const middle = share + z ** 2 / (2 * judged);
  const spread = z * Math.sqrt((share * (1 - share)) / judged + z ** 2 / (4 * judged ** 2));
  const whole = 1 + z ** 2 / judged;
  return [Math.max(0, (middle - spread) / whole), Math.min(1, (middle + spread) / whole)];
}

export function tableOf(scores: ReadonlyMap<string, Score & { readonly equivalent: number }>): string {
  const rows = [...scores].map(([area, score]) => rowOf(area, score));
  const sum = [...scores.values()].reduce(
    (all, one) => ({
      noticed: all.noticed + one.noticed,
      judged: all.judged + one.judged,
      equivalent: all.equivalent + one.equivalent,
    }),
    { noticed: 0, judged: 0, equivalent: 0 },
  );
  const lines = [["area", "noticed", "score", "95 %", "equivalent"], ...rows];
  if (rows.length > 1) lines.push(rowOf("all", sum));
  const widths =
    lines[0]?.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0))) ?? [];
  return lines
    .map((line) =>
      line
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

function rowOf(area: string, score: Score & { readonly equivalent: number }): string[] {
  const [low, high] = wilson(score);
  const share = score.judged === 0 ? "-" : percent(score.noticed / score.judged);
  const noticed = `${score.noticed} / ${score.judged}`;
  return [area, noticed, share, `${percent(low)} to ${percent(high)}`, String(score.equivalent)];
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
