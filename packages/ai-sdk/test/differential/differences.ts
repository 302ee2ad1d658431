/** The differences between a plain program and one in a run: the table of docs/guides/integrate/ai-sdk-differences.md. */

export const differences = [
  "bodies",
  "secret-headers",
  "error-bodies",
  "retries",
  "retry-error",
  "progress",
  "callback-order",
  "text-ids",
] as const;

export type DifferenceId = (typeof differences)[number];
