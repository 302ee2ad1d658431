/** `durable eval`: runs the eval of a file, and fails when a threshold is missed. */

import { existsSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Command } from "../command.ts";
import { CliError, exit } from "../exit.ts";

/** What `evaluate` of @durable/evals resolves to. */
interface Report {
  readonly name: string;
  readonly passed: boolean;
  text(): string;
  markdown(): string;
  html(): string;
}

export const evalCommand: Command = {
  usage: "<file>",
  summary: "Asks recorded runs again with another prompt or model, and compares",
  arguments: [1, 1],
  examples: ["durable eval evals/tone.ts", "durable eval evals/tone.ts --markdown report.md"],
  options: {
    markdown: {
      type: "string",
      value: "file",
      help: "also writes the report as Markdown, for a pull request",
    },
    html: { type: "string", value: "file", help: "also writes the report as one HTML file" },
  },
  more: [
    "The file exports a function that calls evaluate() of @durable/evals: export default () => evaluate(app, { ... }).",
    "Exit code 1 says that a threshold was missed. The same eval once more pays nothing.",
  ],
  run: async ({ args: [file = ""], flags, streams, answer }) => {
    const report = await reportOf(resolve(streams.cwd, file));
    for (const form of ["markdown", "html"] as const) {
      const to = flags.text(form);
      if (to !== undefined) writeFileSync(resolve(streams.cwd, to), report[form](), { mode: 0o600 });
    }
    answer({ json: { ...report }, text: [report.text()] });
    return report.passed ? exit.ok : exit.failed;
  },
};

async function reportOf(path: string): Promise<Report> {
  if (!existsSync(path))
    throw new CliError(`There is no file ${path}.`, { exit: exit.notFound, code: "not-found" });
  const module = (await import(pathToFileURL(path).href)) as { readonly default?: unknown };
  const made = typeof module.default === "function" ? (module.default as () => unknown) : null;
  const report = made === null ? null : ((await made()) as Partial<Report> | null);
  if (typeof report?.passed === "boolean" && report.text && report.markdown && report.html)
    return report as Report;
  throw new CliError(
    `${path} gives no report. Write: export default () => evaluate(app, { name, runs, variants, score })`,
  );
}
