/** The differences between a plain program and one in a run: the same as in docs/reference/ai-sdk-differences.md. */

export const differences = [
  "bodies",
  "error-bodies",
  "callback-order",
  "progress",
  "retries",
  "retry-error",
] as const;

export type DifferenceId = (typeof differences)[number];
