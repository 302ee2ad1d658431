/** One run of the agent, shown while it runs: its own steps, and those of the branches it forks. */

import { join } from "node:path";
import { createApp } from "@durable/core";
import { chooseModel, forget, paceOf, watching, type Terminal, type Watcher } from "example-llm";
import { nearby } from "example-llm/play";
import { commandFor, printerOf, showHeading, showRun } from "example-llm/show-run";
import { createAgent, type Ending } from "./agent.ts";
import { createCandidate, labelOf } from "./candidate.ts";
import { describe } from "./describe.ts";
import { script } from "./script.ts";
import { task } from "./task.ts";
import { showFamily } from "./tree.ts";

const id = "coding-agent";
export const command = commandFor(id, "demo");

/** Starts or continues the agent, and returns the exit code. */
export async function demo(out: Terminal, { fresh }: { readonly fresh: boolean }): Promise<number> {
  const { env } = process;
  const folder = env["DURABLE_DIR"] ?? ".durable";
  const pace = paceOf(env["DEMO_PACE"] || "0.3");
  const { model, line } = await chooseModel(env, { script, pace });
  const counts = new Counts(out);
  const printer = printerOf(out, { describe, width: 20, watchers: [counts] });
  // A prefix distinguishes the branches.
  const candidate = watching(createCandidate({ model, scratch: join(folder, "scratch") }), (ctx, brief) =>
    printer.watch(ctx, `${labelOf(brief)}/`),
  );
  const workflow = watching(createAgent({ candidate, folder }), (ctx) => printer.watch(ctx));
  const app = createApp({ workflows: [workflow, candidate] });
  if (fresh) {
    const { runs } = await candidate.list();
    for (const runId of [id, ...runs.map((run) => run.runId)]) await forget(app, runId);
  }
  return showRun(out, {
    workflow,
    input: task,
    id,
    printer,
    facts: { task, model: line },
    show: async (outcome) => {
      if (outcome.status === "completed") {
        showHeading(out, "The branches");
        await showFamily(out, candidate, outcome.output);
        showWinner(out, outcome.output);
      }
      out.line();
      out.line(counts.text());
    },
    again: command,
    fresh: commandFor(id, "demo", "--fresh"),
  });
}

/** Counts the model calls of this process, and those it did not need. */
class Counts implements Watcher {
  readonly #out: Terminal;
  #plans = 0;
  #codes = 0;
  #reused = 0;

  constructor(out: Terminal) {
    this.#out = out;
  }

  began({ key }: { readonly key: string }): void {
    if (/^plan#\d+$/.test(key))
      this.#out.line(`  ${this.#out.paint("yellow", "none passes: back to the plan, with what went wrong")}`);
    if (key.endsWith("/plan")) this.#plans += 1;
    if (key.endsWith("/implement")) this.#codes += 1;
  }

  settled({ key, ran }: { readonly key: string; readonly ran: boolean }): void {
    if (key.endsWith("/plan") && !ran) this.#reused += 1;
  }

  text(): string {
    return `Model calls here: ${this.#plans} for plans, ${this.#codes} for code. A plan came from the journal ${this.#reused} times.`;
  }
}

function showWinner(out: Terminal, { winner, passes, rounds, file }: Ending): void {
  const after = `after ${rounds} ${rounds === 1 ? "plan" : "plans"}`;
  const found = passes
    ? `${winner.label} passes, ${after}`
    : `None passes ${after}; the best is ${winner.label}`;
  showHeading(out, found);
  for (const line of winner.code.trimEnd().split("\n")) out.line(`  ${out.paint("dim", "|")} ${line}`);
  out.line(`  ${out.paint("dim", nearby(file))}`);
}
