/**
 * The whole demo as a person would type it: every command is a separate process, and the journal is all they
 * share. This file only acts as the people at the keyboard.
 */

import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Terminal } from "example-llm";
import { commandFor, showHeading } from "example-llm/show-run";
import type { Desk } from "./desk.ts";
import { example } from "./show.ts";

const id = "demo";

type Command = readonly [script: string, ...args: readonly string[]];

const byHand: readonly Command[] = [["apply"], ["review"], ["fork", "decision"]];

export async function demo(out: Terminal, desk: Desk): Promise<number> {
  await desk.forget(id);
  for (const [title, ...commands] of scenes(desk)) {
    showHeading(out, title);
    for (const command of commands) {
      const [script, ...args] = await command();
      out.line();
      out.line(out.paint("yellow", `$ ${commandFor(example, script, ...args)}`));
      const code = await run(script, args);
      // The command has said what went wrong; 10 is a run that waits.
      if (code !== 0 && code !== 10) return code ?? 1;
    }
  }
  showHeading(out, "The first loan and its decision are as they were. By hand:");
  for (const [script, ...args] of byHand) out.line(`  ${commandFor(example, script, ...args)}`);
  return 0;
}

type Scene = readonly [title: string, ...commands: readonly (() => Command | Promise<Command>)[]];

function scenes(desk: Desk): readonly Scene[] {
  /** Answers the open review of this branch, whose token is in the journal. */
  const answer =
    (runId: string, branch: string, ...said: readonly string[]) =>
    async (): Promise<Command> => {
      const outcome = await desk.loan.get(runId).outcome();
      const waiting = outcome.status === "suspended" ? outcome.waiting : [];
      const found = waiting.find(({ key }) => key === `parallel[${branch}]/review`);
      if (found === undefined) throw new RangeError(`Run ${runId} has no open review of the ${branch}.`);
      return ["review", found.token, "approve", ...said];
    };
  const lower = ["--limit", "180000", "--comment", "a second loan came to light"];
  return [
    [
      "1  Two branches work side by side, and each waits for a person of its own",
      () => ["apply", "--id", id],
    ],
    [
      "2  The appraiser answers first, from another process; the credit review is still open",
      answer(id, "appraisal", "--comment", "seen it, sound"),
    ],
    ["3  The credit officer answers, and the loan is decided", answer(id, "credit")],
    [
      "4  What if the policy were stricter? A fork of the decision: all that came before it is reused",
      () => ["fork", "decision", "--id", id],
    ],
    [
      "5  The credit officer has second thoughts: back into that review alone, the appraisal stands",
      () => ["fork", "credit", "--id", id],
      answer(`${id}-credit`, "credit", ...lower),
    ],
  ];
}

/** Runs one command like npm does, on the same screen. */
function run(script: string, args: readonly string[]): Promise<number | null> {
  const main = fileURLToPath(new URL("main.ts", import.meta.url));
  const child = spawn(process.execPath, [...process.execArgv, main, script, ...args], {
    stdio: "inherit",
    env: { ...process.env, DEMO_PACE: process.env["DEMO_PACE"] || "0.3" },
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", resolve);
  });
}
