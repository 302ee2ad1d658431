/** The text of one entry, as long as one of ours for a step without a payload. */
export function entryText(i: number): string {
  return JSON.stringify({
    seq: i,
    kind: "step.completed",
    key: `step#${i}`,
    at: 1_793_000_000_000,
    value: i,
  });
}
