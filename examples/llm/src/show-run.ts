/** What a demo prints around the steps of its run: what it is, its result, and the commands that go on. */

import { join } from "node:path";
import type { Outcome, Run, Workflow } from "@durable/core";
import type { Entry } from "@durable/core/types";
import { closingLine, exitCodeOf } from "./closing.ts";
import { nearby } from "./play.ts";
import { effectsFile } from "./effects.ts";
import { RunPrinter, type PrinterOptions } from "./printer.ts";
import { entriesOf } from "./runs.ts";
import { wrapped, type Terminal } from "./terminal.ts";

/** The longest line of text, however wide the screen is. */
const readable = 100;

export interface ShownRun<Input, Output> {
  readonly workflow: Workflow<Input, Output>;
  readonly input: Input;
  readonly id: string;
  /** Watches the workflow, and prints its steps. */
  readonly printer: RunPrinter;
  /** Shown above the steps, beside the run itself. */
  readonly facts: Readonly<Record<string, string>>;
  /** Shows where the run has stopped, before the last line. */
  readonly show: (outcome: Outcome<Output>, run: Run<Output, Input>) => unknown;
  readonly again: string;
  readonly fresh: string;
}

/** A printer of steps. Tests of crashes set `DEMO_EFFECTS`, and get a line for the begin and end of each body. */
export function printerOf(out: Terminal, options: PrinterOptions): RunPrinter {
  const file = process.env["DEMO_EFFECTS"];
  const { watchers = [] } = options;
  return new RunPrinter(out, { ...options, watchers: file ? [...watchers, effectsFile(file)] : watchers });
}

/** Starts or continues a run, and returns the exit code. */
export async function showRun<Input, Output>(
  out: Terminal,
  { workflow, input, id, printer, facts, show, again, fresh }: ShownRun<Input, Output>,
): Promise<number> {
  const run = workflow.get(id);
  const before = await entriesOf(run);
  const journal = nearby(join(process.env["DURABLE_DIR"] ?? ".durable", "journal.db"));
  showFacts(out, { ...facts, run: `${id} (${stateOf(before)}), journal in ${journal}` });
  if (!isOver(before))
    out.line(`${" ".repeat(10)}${out.paint("yellow", "press Ctrl-C at any time and run it again")}`);
  out.line();
  printer.known(before);
  printer.head();
  const outcome = await workflow.run(input, { id });
  if (outcome.recorded) printer.recorded();
  await show(outcome, run);
  out.line();
  out.line(closingLine(outcome, { settled: printer.settled, again, fresh }));
  return exitCodeOf(outcome);
}

export function showFacts(out: Terminal, facts: Readonly<Record<string, string>>): void {
  const width = Math.max(10, ...Object.keys(facts).map((name) => name.length + 1));
  for (const [name, text] of Object.entries(facts)) {
    const [first = "", ...rest] = wrapped(text, Math.min(out.width, readable), " ".repeat(width));
    out.line(`${out.paint("bold", name.padEnd(width))}${first.trimStart()}`);
    for (const line of rest) out.line(line);
  }
}

export function showHeading(out: Terminal, text: string): void {
  out.line();
  out.line(out.paint("bold", text));
}

export function showText(out: Terminal, text: string): void {
  for (const line of wrapped(text, Math.min(out.width, readable), "  ")) out.line(line);
}

/** A command of an example as a person types it. */
export function commandFor(example: string, script: string, ...args: readonly string[]): string {
  const shown = args.map((arg) => (/^[\w<>=-]+$/.test(arg) ? arg : JSON.stringify(arg)));
  return [`npm run ${script} -w example-${example}`, ...(args.length === 0 ? [] : ["--", ...shown])].join(
    " ",
  );
}

const ends: Readonly<Record<string, string>> = {
  "run.completed": "finished",
  "run.failed": "failed",
  "run.cancelled": "cancelled",
};

function isOver(before: readonly Entry[]): boolean {
  return before.some(({ kind }) => kind in ends);
}

/** The state of a run before this command. */
export function stateOf(before: readonly Entry[]): string {
  if (before.length === 0) return "new";
  const steps = before.filter(({ kind }) => kind === "step.completed").length;
  return ends[before.at(-1)?.kind ?? ""] ?? `continued, ${steps} steps recorded`;
}
