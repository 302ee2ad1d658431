/** A step's value in a few words for the screen. */

import { passes, type Verdict } from "./agent.ts";
import type { Plan } from "./plan.ts";
import type { Report } from "./sandbox.ts";

export function describe(key: string, value: unknown): string {
  switch (key.split("/").at(-1)?.split("#")[0]) {
    case "plan": {
      const { approaches } = value as Plan;
      return `${approaches.length} approaches: ${approaches.map(({ name }) => name).join(", ")}`;
    }
    case "implement":
      return `${(value as string).trimEnd().split("\n").length} lines`;
    case "test":
      return reported(value as Report);
    case "fork":
      return passes(value as Verdict)
        ? "passes"
        : `${(value as Verdict).passed} of ${(value as Verdict).total}`;
    case "deliver":
      return "written to a file";
    default:
      return "";
  }
}

export function reported(report: Report): string {
  const { passed, total, failures, stopped } = report;
  if (passes(report)) return `all ${total} tests pass`;
  // The reason for stopping is the last failure.
  const shown = stopped === null ? failures[0] : failures.at(-1);
  const limit = stopped === "time" || stopped === "memory" ? `out of ${stopped}, ` : "";
  return `${passed} of ${total}; ${limit}${shown?.name}: ${shown?.what}`;
}
