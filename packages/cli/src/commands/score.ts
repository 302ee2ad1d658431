/** `durable score`: records what a person or a check thinks of a run. */

import type { Command } from "../command.ts";
import { CliError, exit } from "../exit.ts";
import { findRun, shortId } from "../runs.ts";

export const score: Command = {
  usage: "<run> <name> <number|true|false|none> [--note text]",
  summary: "Records a score of a run, also after its end; lists and evals have it",
  arguments: [3, 3],
  examples: [
    "durable score @last helpful true",
    "durable score order-7 quality 0.4 --note 'misses the refund'",
  ],
  options: { note: { type: "string", value: "text", help: "why; encrypted where values are" } },
  more: [
    "The last score of a name counts; none removes it. durable ls --where 'score:helpful<1' finds runs by it.",
  ],
  run: async ({ args: [reference = "", name = "", text = ""], flags, answer, session }) => {
    const value = valueOf(text);
    const { app } = await session();
    const runId = await findRun(app, reference);
    const scores = await app.get(runId).score(name, value, flags.text("note"));
    const all = Object.entries(scores).map(([each, is]) => `${each}=${is}`);
    answer({
      json: { runId, scores },
      text: [`${shortId(runId)} has ${all.length === 0 ? "no scores" : all.join(" ")}`],
    });
    return exit.ok;
  },
};

function valueOf(text: string): number | boolean | null {
  if (text === "none") return null;
  if (text === "true" || text === "false") return text === "true";
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value)) return value;
  throw new CliError(`${text} is not a score. Use a number, true, false, or none to remove it.`);
}
