/**
 * The whole demo as a person would type it: every command is a separate process, and the journal is all they
 * share. This file only acts as the people at the keyboard.
 */

import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Terminal } from "example-llm";
import type { Desk } from "./desk.ts";
import { commandFor, title } from "./show.ts";

const id = "demo";

/** A command of the demo ended with this code, which ends the demo. */
class EndedEarly extends Error {
  readonly code: number;

  constructor(code: number) {
    super(`The command ended with ${code}.`);
    this.code = code;
  }
}

export async function demo(out: Terminal, desk: Desk): Promise<number> {
  try {
    await scenes(out, desk);
    return 0;
  } catch (error) {
    if (error instanceof EndedEarly) return error.code;
    throw error;
  }
}

async function scenes(out: Terminal, desk: Desk): Promise<void> {
  await desk.forget(id);
  /** The token of the open review in this branch, from the journal. */
  const token = async (runId: string, branch: string): Promise<string> => {
    const outcome = await desk.loan.get(runId).outcome();
    const waiting = outcome.status === "suspended" ? outcome.waiting : [];
    const found = waiting.find(({ key }) => key === `parallel[${branch}]/review`);
    if (found === undefined) throw new Error(`Run ${runId} has no open review of the ${branch}.`);
    return found.token;
  };
  const type = async (script: string, ...args: readonly string[]): Promise<void> => {
    out.line();
    out.line(out.paint("yellow", `$ ${commandFor(script, ...args)}`));
    const code = await command(script, args);
    // The command has said what went wrong.
    if (code !== 0 && code !== 10) throw new EndedEarly(code ?? 1);
  };

  title(out, "1  Two branches work side by side, and each waits for a person of its own");
  await type("apply", "--id", id);

  title(out, "2  The appraiser answers first, from another process; the credit review is still open");
  await type("review", await token(id, "appraisal"), "approve", "--comment", "seen it, sound");

  title(out, "3  The credit officer answers, and the loan is decided");
  await type("review", await token(id, "credit"), "approve");

  title(
    out,
    "4  What if the policy were stricter? A fork of the decision: all that came before it is reused",
  );
  await type("fork", "decision", "--id", id);

  title(out, "5  The credit officer has second thoughts: back into that review alone, the appraisal stands");
  await type("fork", "credit", "--id", id);
  await type(
    "review",
    await token(`${id}-credit`, "credit"),
    "approve",
    "--limit",
    "180000",
    "--comment",
    "a second loan came to light",
  );

  title(out, "The first loan and its decision are as they were. By hand:");
  for (const line of [commandFor("apply"), commandFor("review"), commandFor("fork", "decision")])
    out.line(`  ${line}`);
}

/** Runs one command like npm does, on the same screen. */
function command(script: string, args: readonly string[]): Promise<number | null> {
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
