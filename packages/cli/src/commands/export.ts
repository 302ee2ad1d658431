/** `durable export`: runs as JSON that can be imported, as a dataset, as one HTML page, or as Markdown for an issue. */

import { writeFileSync } from "node:fs";
import { extname, resolve } from "node:path";
import type { App, ListedRun } from "@durable/core";
import { allRows, answerText, exampleScore, type RunView } from "@durable/core/inspect";
import { archive } from "../archive.ts";
import { chosenRuns } from "../choose.ts";
import type { Command, CommandContext } from "../command.ts";
import { type Redact, writeDataset } from "../dataset.ts";
import { CliError, exit } from "../exit.ts";
import { lookAt } from "../look.ts";
import { filterOptions } from "../options.ts";
import { allRuns, filterOf, filterOfText, isEmpty } from "../runs.ts";
import type { Session } from "../session.ts";
import { load } from "../store.ts";
import { Terminal } from "../terminal.ts";
import { plural, turnText } from "../text/format.ts";
import { waterfall } from "../text/waterfall.ts";
import { header } from "../text/run-head.ts";
import { footer } from "./show.ts";

const formats = ["json", "html", "md"];

export const exportCommand: Command = {
  usage: "<run> ... [-o file] [--format json|html|md] | --dataset folder",
  summary: "Writes runs to one file: JSON for durable import, HTML or Markdown for people; or to a dataset",
  arguments: [0, 100],
  examples: [
    "durable export order-7 -o order-7.json",
    "durable export order-7 --format html -o order-7.html",
    "durable export --dataset evals/orders",
  ],
  options: {
    ...filterOptions,
    output: { type: "string", short: "o", value: "file", help: "the file; stdout by default" },
    format: {
      type: "string",
      short: "f",
      value: "json",
      help: "json, html or md; by the name of the file by default",
    },
    dataset: {
      type: "string",
      value: "folder",
      help: "a file for each run and a manifest, for evals and tests; runs that are kept as examples by default",
    },
    hide: {
      type: "string",
      multiple: true,
      value: "field",
      help: "HTML and dataset: also hides the values of this field",
    },
    "no-redact": {
      type: "boolean",
      help: "HTML and dataset: hides nothing; keys and e-mail addresses are hidden by default",
    },
  },
  more: ["JSON holds the journals byte by byte, with all values. Encrypted journals stay encrypted."],
  run: async (context) => {
    const { flags, term, streams, session, answer, json } = context;
    const opened = await session();
    if (flags.text("dataset") !== undefined) return toDataset(context, opened);
    const heads = await chosenRuns(context, opened);
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

/** Runs that were chosen, or those that are kept as examples. */
async function toDataset(context: CommandContext, session: Session): Promise<number> {
  const { app, storage } = session;
  const { flags, streams, args, term, json, answer } = context;
  const isChosen = args.length > 0 || !isEmpty(filterOf(flags, context));
  const folder = flags.text("dataset") ?? "";
  const heads = isChosen ? await chosenRuns(context, session) : await examples(app);
  if (heads.length === 0)
    throw new CliError("No run is kept as an example. Name runs, or: durable score <run> example true", {
      exit: exit.notFound,
      code: "not-found",
    });
  const kept = flags.on("no-redact") ? null : await redaction(context);
  const runs = heads.map(({ runId }) => runId);
  const files = await writeDataset(resolve(streams.cwd, folder), runs, { app, storage, redact: kept });
  if (json) answer({ json: { folder, files, redacted: kept !== null }, text: [] });
  else
    term.say(
      `Wrote ${plural(runs.length, "run")} to ${folder}${kept === null ? ", not redacted" : ""}. Read them before you share them.`,
    );
  return exit.ok;
}

async function examples(app: App): Promise<ListedRun[]> {
  const found: ListedRun[] = [];
  for await (const head of allRuns(app, filterOfText(`score:${exampleScore}>0`))) found.push(head);
  return found;
}

async function redaction({ flags, streams }: CommandContext): Promise<Redact> {
  const { redact } = await load<{ redact: (value: unknown, hide: readonly string[]) => unknown }>(
    "@durable/dashboard",
    "@durable/dashboard",
    streams.cwd,
  );
  const hide = flags.list("hide");
  return (value) => redact(value, hide);
}

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

/** What models said, in the order of the calls. A chat repeats what its calls have said, which is not said twice. */
function saidLines(view: RunView): string[] {
  const said = new Set<string>();
  return allRows(view).flatMap(({ value, ...row }) => {
    const text = answerText(value);
    if (text === "" || said.has(text)) return [];
    said.add(text);
    return ["", ` ${turnText(row) || row.name}`, ...text.split("\n").map((line) => `   ${line}`)];
  });
}

/** The screen of `durable show` as a block of text, with what models said. */
async function markdown(
  { streams, now }: CommandContext,
  { app, prices }: Session,
  runId: string,
): Promise<string> {
  const { view, sums } = await lookAt(app, runId, { prices, now: now(), withChildren: true });
  const lines: string[] = [];
  const stdout = { write: (line: string) => lines.push(line) };
  const term = new Terminal(
    { ...streams, stdout, env: { COLUMNS: "110", LANG: "C.UTF-8" } },
    { color: false },
  );
  const options = { term, now: now(), prices, sums };
  term.out(
    ...header(view, options),
    "",
    ...waterfall(view, options),
    ...footer(view, options),
    ...saidLines(view),
  );
  // A fence longer than any in the text, because recorded text may contain one.
  const longest = Math.max(3, ...[...lines.join("").matchAll(/`+/g)].map(([ticks]) => ticks.length + 1));
  const fence = "`".repeat(longest);
  return `${fence}text\n${lines.join("")}${fence}\n`;
}
