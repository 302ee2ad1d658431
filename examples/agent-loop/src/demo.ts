/** One run of the agent, shown while it runs. */

import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { createApp } from "@durable/core";
import {
  chooseModel,
  closingLine,
  entriesOf,
  exitCodeOf,
  forget,
  paceOf,
  RunPrinter,
  type Terminal,
} from "example-llm";
import { effectsFile } from "example-llm/effects";
import { createAgent } from "./agent.ts";
import { describe } from "./describe.ts";
import { openHarbourOffice } from "./harbour-office.ts";
import { defaultQuestion, script } from "./script.ts";
import { readDocuments } from "./search.ts";
import { showAnswer, showHead, showTokens } from "./show.ts";
import { createTools } from "./tools.ts";

/** The command that answers this question. */
export function commandFor(question: string | null, ...options: readonly string[]): string {
  const args = [...options, ...(question === null ? [] : [JSON.stringify(question)])];
  return ["npm run demo -w example-agent-loop", ...(args.length === 0 ? [] : ["--", ...args])].join(" ");
}

export interface DemoOptions {
  readonly fresh: boolean;
  readonly question: string | null;
}

/** Starts or continues the run of this question, and returns the exit code. */
export async function demo(out: Terminal, options: DemoOptions): Promise<number> {
  const question = options.question ?? defaultQuestion;
  const id = options.question === null ? "agent-loop" : idFor(question);
  const { env } = process;
  const pace = paceOf(env["DEMO_PACE"]);
  const { model, line } = await chooseModel(env, { script, pace });
  const effects = env["DEMO_EFFECTS"];
  const printer = new RunPrinter(out, { describe, watchers: effects ? [effectsFile(effects)] : [] });
  const office = await openHarbourOffice(300 * pace);
  try {
    const documents = readDocuments(fileURLToPath(new URL("../documents", import.meta.url)));
    const tools = createTools({ documents, harbourOffice: office.url, pace });
    const agent = createAgent({ model, tools, watch: (ctx) => printer.watch(ctx) });
    const app = createApp({ workflows: [agent] });
    if (options.fresh) await forget(app, id);
    const run = agent.get(id);
    const before = await entriesOf(run);
    showHead(out, { question, model: line, id, folder: env["DURABLE_DIR"] ?? ".durable", before });

    printer.known(before);
    printer.head();
    const outcome = await agent.run(question, { id });
    if (outcome.recorded) printer.recorded();
    if (outcome.status === "completed") {
      showAnswer(out, outcome.output);
      showTokens(out, await run.entries(), printer.settled.ran);
    }
    out.line();
    const again = commandFor(options.question);
    const fresh = commandFor(options.question, "--fresh");
    out.line(closingLine(outcome, { settled: printer.settled, again, fresh }));
    return exitCodeOf(outcome);
  } finally {
    office.close();
  }
}

/** Each question has its own run; asking the same one again continues it. */
function idFor(question: string): string {
  const words = question.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  const hash = createHash("sha256").update(question).digest("hex").slice(0, 8);
  return ["agent-loop", ...words.slice(0, 6), hash].join("-").slice(-128);
}
