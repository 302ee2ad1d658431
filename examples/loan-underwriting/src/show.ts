/** What the commands print around the steps of a run: heads, reviews, plans of forks, and their results. */

import type { SuspendPoint } from "@durable/core";
import type { CallDiff, Diff, ForkPlan, Given, PlannedCall, Spend } from "@durable/core/inspect";
import type { Style, Terminal } from "example-llm";
import { commandFor, showText } from "example-llm/show-run";
import { decided, describe, money } from "./describe.ts";
import type { Decision } from "./loan.ts";

export const example = "loan-underwriting";
/** The longest key: `parallel[appraisal]/review`. */
export const keyWidth = 26;

/** One row of a list, aligned with the table of steps. */
function row(out: Terminal, [style, word]: readonly [Style, string], key: string, what: string): void {
  const rest = what === "" ? key : `${key.padEnd(keyWidth)}  ${what}`;
  out.line(`  ${out.paint(style, word.padEnd(8))} ${rest}`);
}

/** An open review, and the command that answers it. */
export function showReview(out: Terminal, runId: string, point: SuspendPoint): void {
  const note = point.note as { summary: string; limit?: number; value?: number };
  const proposed =
    note.limit === undefined ? `worth ${money(note.value ?? 0)}` : `up to ${money(note.limit)}`;
  row(out, ["yellow", "open"], point.key, `${proposed}: ${note.summary}`);
  row(out, ["dim", ""], `of run ${runId}, answered by`, "");
  row(out, ["dim", ""], `  ${commandFor(example, "review", point.token, "approve")}`, "");
}

const planned: Readonly<Record<PlannedCall["what"], Style>> = {
  reused: "cyan",
  edited: "yellow",
  runs: "green",
  waits: "yellow",
};

export function showPlan(
  out: Terminal,
  plan: ForkPlan,
  { input, output }: { readonly input: number; readonly output: number },
): void {
  for (const { key, what, usage } of plan.calls) {
    const [used] = usage;
    row(out, [planned[what], what], key, used === undefined ? "" : tokens(used));
  }
  out.line(`  saved    ${spend(plan.saved)}`);
  out.line(`  at stake ${spend(plan.atStake)}`);
  out.line(out.paint("dim", `           tokens as recorded; $${input} in and $${output} out for a million`));
}

function tokens({ inputTokens, outputTokens }: { inputTokens: number; outputTokens: number }): string {
  return `${inputTokens} in, ${outputTokens} out`;
}

function spend({ cost, ...used }: Spend): string {
  const price = cost === null ? "" : `, $${cost.toFixed(6)}`;
  return `${tokens(used)}${price}`;
}

const changes: Readonly<Record<CallDiff["change"], Style>> = {
  same: "cyan",
  edited: "yellow",
  "re-run": "green",
  new: "green",
  gone: "red",
};

export function showDiff(out: Terminal, { calls }: Diff): void {
  for (const { key, change, before, after } of calls) {
    const [one, two] = [given(key, before), given(key, after)];
    row(out, [changes[change], change], key, change === "same" || one === two ? one : `${one} -> ${two}`);
  }
}

function given(key: string, what: Given | null): string {
  if (what === null) return "nothing yet";
  return "value" in what ? describe(key, what.value) : "failed";
}

export function showDecision(out: Terminal, decision: Decision): void {
  out.line();
  out.line(`  ${out.paint("bold", decided(decision))}`);
  showText(out, decision.letter);
}
