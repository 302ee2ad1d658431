/** Legitimate uses of words that `npm run prose:check` looks for. */
import type { Allowed } from "./prose.ts";

export const allowedProse: readonly Allowed[] = [
  {
    file: "docs/internals/simulation-mutants.md",
    text: "| blobs-of-nobody |",
    reason: "the name of a planted bug",
  },
  {
    file: "examples/coding-agent/src/task.ts",
    text: "what somebody means in a print dialog",
    reason: "a task in the words of the user who gives it to the agent",
  },
];
