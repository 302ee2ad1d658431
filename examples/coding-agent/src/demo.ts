/** One run of the agent, shown while it runs: its own steps, and those of the branches it forks. */

import { join } from "node:path";
import { createApp } from "@durable/core";
import type { Entry } from "@durable/core/types";
import {
  chooseModel,
  closingLine,
  entriesOf,
  exitCodeOf,
  forget,
  paceOf,
  RunPrinter,
  wrapped,
  type Terminal,
  type Watcher,
} from "example-llm";
import { effectsFile } from "example-llm/effects";
import { nearby } from "example-llm/play";
import { createAgent, type Ending } from "./agent.ts";
import { createCandidate } from "./candidate.ts";
import { describe } from "./describe.ts";
import { script } from "./script.ts";
import { task } from "./task.ts";
import { showFamily } from "./tree.ts";

export const id = "coding-agent";
export const command = "npm run demo -w example-coding-agent";
const readable = 100;

/** Starts or continues the agent, and returns the exit code. */
export async function demo(out: Terminal, { fresh }: { readonly fresh: boolean }): Promise<number> {
  const { env } = process;
  const folder = env["DURABLE_DIR"] ?? ".durable";
  const pace = paceOf(env["DEMO_PACE"] || "0.3");
  const { model, line } = await chooseModel(env, { script, pace });
  const counts = new Counts(out);
  const effects = env["DEMO_EFFECTS"];
  const watchers = [counts, ...(effects ? [effectsFile(effects)] : [])];
  const printer = new RunPrinter(out, { describe, width: 20, watchers });
  const scratch = join(folder, "scratch");
  const candidate = createCandidate({ model, scratch, watch: (ctx, path) => printer.watch(ctx, path) });
  const agent = createAgent({ candidate, folder, watch: (ctx) => printer.watch(ctx) });
  const app = createApp({ workflows: [agent, candidate] });
  if (fresh) {
    const { runs } = await candidate.list();
    for (const runId of [id, ...runs.map((run) => run.runId)]) await forget(app, runId);
  }

  const before = await entriesOf(agent.get(id));
  showHead(out, line, before);
  printer.known(before);
  printer.head();
  const outcome = await agent.run(task, { id });
  if (outcome.recorded) printer.recorded();
  if (outcome.status === "completed") {
    heading(out, "The branches");
    await showFamily(out, candidate, outcome.output);
    showWinner(out, outcome.output);
  }
  out.line();
  out.line(counts.text());
  out.line(
    closingLine(outcome, { settled: printer.settled, again: command, fresh: `${command} -- --fresh` }),
  );
  return exitCodeOf(outcome);
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

function showHead(out: Terminal, model: string, before: readonly Entry[]): void {
  const fact = (name: string, text: string): void => out.line(`${out.paint("bold", name.padEnd(10))}${text}`);
  const over = before.some(({ kind }) => kind === "run.completed" || kind === "run.failed");
  const [first = "", ...rest] = wrapped(task, Math.min(out.width, readable), " ".repeat(10));
  fact("task", first.trimStart());
  for (const line of rest) out.line(line);
  fact("model", model);
  fact("run", `${id} (${before.length === 0 ? "new" : over ? "finished" : "continued"})`);
  if (!over) out.line(`${" ".repeat(10)}${out.paint("yellow", "press Ctrl-C at any time and run it again")}`);
  out.line();
}

function heading(out: Terminal, text: string): void {
  out.line();
  out.line(out.paint("bold", text));
}

function showWinner(out: Terminal, { winner, passes, rounds, file }: Ending): void {
  const after = `after ${rounds} ${rounds === 1 ? "plan" : "plans"}`;
  heading(
    out,
    passes ? `${winner.label} passes, ${after}` : `None passes ${after}; the best is ${winner.label}`,
  );
  for (const line of winner.code.trimEnd().split("\n")) out.line(`  ${out.paint("dim", "|")} ${line}`);
  out.line(`  ${out.paint("dim", nearby(file))}`);
}
