/** Prints the branches as a tree of forks. */

import type { Workflow } from "@durable/core";
import { lineage, type Lineage } from "@durable/core/inspect";
import type { Terminal } from "example-llm";
import type { Ending } from "./agent.ts";
import type { Branch } from "./candidate.ts";
import { reported } from "./describe.ts";
import type { Brief, Plan } from "./plan.ts";

export async function showFamily(
  out: Terminal,
  candidate: Workflow<Brief, Branch>,
  { root, winner }: Ending,
): Promise<void> {
  const draw = async (runId: string, before: string, branch: string): Promise<void> => {
    const run = candidate.get(runId);
    const from = lineage(await run.entries());
    const outcome = await run.outcome();
    const { tried, plan } = outcome.status === "completed" ? outcome.output : nothing;
    const label = from?.label ?? "plan-1";
    const cut = cutOf(from);
    const names = plan.approaches.map(({ name }) => name).join(", ");
    const what = tried === null ? names || outcome.status : reported(tried.report);
    const won = runId === winner.runId;
    const name = `${before}${branch}${label}`.padEnd(20);
    out.line(
      `  ${won ? out.paint("green", name) : name} ${out.paint("dim", cut.padEnd(10))} ${what}${won ? "  <- chosen" : ""}`,
    );
    const { runs } = await candidate.list({ parent: runId });
    const children = runs.toSorted((a, b) => place(plan, a.label) - place(plan, b.label));
    const inner = before + (branch === "" ? "" : branch.startsWith("`") ? "   " : "|  ");
    for (const [index, child] of children.entries())
      await draw(child.runId, inner, index === children.length - 1 ? "`- " : "|- ");
  };
  await draw(root, "", "");
}

const nothing: Branch = { plan: { approaches: [] }, tried: null };

/** The cut at which a branch was forked. */
function cutOf(from: Lineage | null): string {
  if (from === null || from.parent === null) return "";
  return [...from.from.map((key) => `from ${key}`), ...from.after.map((key) => `after ${key}`)].join(", ");
}

/** Candidates in the order of their plan, before the next plan. */
function place({ approaches }: Plan, label: string | null): number {
  const found = approaches.findIndex(({ name }) => label?.endsWith(`.${name}`));
  return found === -1 ? approaches.length : found;
}
