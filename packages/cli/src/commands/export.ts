/** `durable export`: runs as JSON that can be imported, as one HTML page, or as Markdown for an issue. */

import { writeFileSync } from "node:fs";
import { extname, resolve } from "node:path";
import type { App } from "@durable/core";
import { archive } from "../archive.ts";
import { chosenRuns } from "../choose.ts";
import type { Command, CommandContext } from "../command.ts";
import { CliError, exit } from "../exit.ts";
import { lookAt } from "../look.ts";
import { filterOptions } from "../options.ts";
import type { Session } from "../session.ts";
import { load } from "../store.ts";
import { Terminal } from "../terminal.ts";
import { plural } from "../text/format.ts";
import { waterfall } from "../text/waterfall.ts";
import { footer, header } from "./show.ts";

const formats = ["json", "html", "md"];

export const exportCommand: Command = {
  usage: "<run> ... [-o file] [--format json|html|md]",
  summary: "Writes runs to one file: JSON for durable import, HTML or Markdown for people",
  arguments: [0, 100],
  options: {
    ...filterOptions,
    output: { type: "string", short: "o", value: "file", help: "the file; stdout by default" },
    format: {
      type: "string",
      short: "f",
      value: "json",
      help: "json, html or md; by the name of the file by default",
    },
    hide: {
      type: "string",
      multiple: true,
      value: "field",
      help: "HTML: also hides the values of this field",
    },
    "no-redact": {
      type: "boolean",
      help: "HTML: hides nothing; keys and e-mail addresses are hidden by default",
    },
  },
  more: ["JSON holds the journals byte by byte, with all values. Encrypted journals stay encrypted."],
  run: async (context) => {
    const { flags, term, streams, session, answer, json } = context;
    const opened = await session();
    const heads = await chosenRuns(context, opened.app);
    const runs = heads.map(({ runId }) => runId);
    if (runs.length === 0)
      throw new CliError("No run fits this filter.", { exit: exit.notFound, code: "not-found" });
    const file = flags.text("output");
    const format = flags.text("format") ?? extname(file ?? "").slice(1);
    const chosen = format === "" ? "json" : format === "htm" ? "html" : format;
    if (!formats.includes(chosen)) throw new CliError(`--format is one of ${formats.join(", ")}.`);
    const text = await render(context, { format: chosen, runs, opened });
    if (file === undefined) {
      term.raw(text);
      return exit.ok;
    }
    writeFileSync(resolve(streams.cwd, file), text, { mode: 0o600 });
    if (json) answer({ json: { file, format: chosen, runs, bytes: Buffer.byteLength(text) }, text: [] });
    else term.say(`Wrote ${plural(runs.length, "run")} to ${file}.`);
    return exit.ok;
  },
};

async function render(
  context: CommandContext,
  { format, runs, opened }: { format: string; runs: readonly string[]; opened: Session },
): Promise<string> {
  if (format === "json") return `${JSON.stringify(await archive(opened.storage, new Set(runs)), null, 1)}\n`;
  const [first = ""] = runs;
  if (runs.length > 1) throw new CliError(`An export to ${format} has one run. Choose one.`);
  return format === "html" ? html(context, opened, first) : markdown(context, opened, first);
}

async function html(
  { streams, flags }: CommandContext,
  { app, prices }: Session,
  runId: string,
): Promise<string> {
  const { exportRun } = await load<{
    exportRun: (app: App, runId: string, options: object) => Promise<string>;
  }>("@durable/dashboard", "@durable/dashboard", streams.cwd);
  return exportRun(app, runId, { prices, redact: !flags.on("no-redact"), hide: flags.list("hide") });
}

/** The screen of `durable show` as a block of text. */
async function markdown(
  { streams, now }: CommandContext,
  { app, prices }: Session,
  runId: string,
): Promise<string> {
  const { view } = await lookAt(app, runId, { prices, now: now() });
  const lines: string[] = [];
  const stdout = { write: (line: string) => lines.push(line) };
  const term = new Terminal(
    { ...streams, stdout, env: { COLUMNS: "110", LANG: "C.UTF-8" } },
    { color: false },
  );
  const options = { term, now: now(), prices };
  term.out(...header(view, options), "", ...waterfall(view, options), ...footer(view, options));
  // A fence longer than any in the text, because recorded text may contain one.
  const longest = Math.max(3, ...[...lines.join("").matchAll(/`+/g)].map(([ticks]) => ticks.length + 1));
  const fence = "`".repeat(longest);
  return `${fence}text\n${lines.join("")}${fence}\n`;
}
