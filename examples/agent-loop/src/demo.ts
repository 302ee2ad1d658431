/** One run of the agent, shown while it runs. */

import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { createApp } from "@durable/core";
import type { Entry } from "@durable/core/types";
import { chooseModel, forget, paceOf, watching, type Terminal } from "example-llm";
import { commandFor, printerOf, showRun, showText } from "example-llm/show-run";
import { createAgent } from "./agent.ts";
import { describe } from "./describe.ts";
import { openHarbourOffice } from "./harbour-office.ts";
import { defaultQuestion, script } from "./script.ts";
import { readDocuments } from "./search.ts";
import { createTools } from "./tools.ts";

/** The command that answers this question. */
export function commandOf(question: string | null, ...options: readonly string[]): string {
  return commandFor("agent-loop", "demo", ...options, ...(question === null ? [] : [question]));
}

export interface DemoOptions {
  readonly fresh: boolean;
  readonly question: string | null;
}

/** Starts or continues the run of this question, and returns the exit code. */
export async function demo(out: Terminal, { fresh, question }: DemoOptions): Promise<number> {
  const input = question ?? defaultQuestion;
  const id = question === null ? "agent-loop" : idFor(question);
  const { env } = process;
  const pace = paceOf(env["DEMO_PACE"]);
  const { model, line } = await chooseModel(env, { script, pace });
  const printer = printerOf(out, { describe });
  const office = await openHarbourOffice(300 * pace);
  try {
    const documents = readDocuments(fileURLToPath(new URL("../documents", import.meta.url)));
    const tools = createTools({ documents, harbourOffice: office.url, pace });
    const workflow = watching(createAgent({ model, tools }), (ctx) => printer.watch(ctx));
    const app = createApp({ workflows: [workflow] });
    if (fresh) await forget(app, id);
    return await showRun(out, {
      workflow,
      input,
      id,
      printer,
      facts: { question: input, model: line },
      show: async (outcome, run) => {
        if (outcome.status !== "completed") return;
        const { text, sources } = outcome.output;
        out.line();
        showText(out, text);
        out.line();
        out.line(`  ${out.paint("dim", `sources: ${sources.join(", ") || "none"}`)}`);
        out.line(`  ${out.paint("dim", tokensIn(await run.entries(), printer.settled.ran))}`);
      },
      again: commandOf(question),
      fresh: commandOf(question, "--fresh"),
    });
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

/** The tokens of all model calls, and those that this process paid for. */
function tokensIn(entries: readonly Entry[], ran: ReadonlySet<string>): string {
  const turns = entries.flatMap((entry) => (entry.kind === "step.completed" ? entry : []));
  const sum = (some: typeof turns): string => {
    const used = some.flatMap(({ usage = [] }) => usage);
    const [input, output] = (["inputTokens", "outputTokens"] as const).map((kind) =>
      used.reduce((total, one) => total + one[kind], 0),
    );
    return `${input} in, ${output} out`;
  };
  return `tokens:  ${sum(turns)}; paid by this process: ${sum(turns.filter(({ key }) => ran.has(key)))}`;
}
