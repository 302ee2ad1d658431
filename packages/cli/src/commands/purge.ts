/** `durable purge`: removes runs that ended long ago, or all but the newest. */

import type { PurgeOptions, Duration } from "@durable/core";
import type { EndStatus, Purged } from "@durable/core/types";
import { confirmCount } from "../choose.ts";
import type { Command, Flags } from "../command.ts";
import { CliError, exit } from "../exit.ts";
import { styled } from "../terminal.ts";
import { plural } from "../text/format.ts";

export const purge: Command = {
  usage: "--older-than 30d [--keep 1000] [--status completed,failed] [--workflow name]",
  summary: "Removes runs that have ended, with their children, by age or number",
  arguments: [0, 0],
  examples: [
    "durable purge --older-than 30d --dry-run",
    "durable purge --older-than 30d --keep 1000 --workflow refund",
  ],
  options: {
    "older-than": { type: "string", value: "30d", help: "only runs that ended longer ago than this" },
    keep: { type: "string", value: "1000", help: "keeps so many of each workflow, the newest" },
    status: {
      type: "string",
      value: "completed",
      help: "completed (by default), failed, cancelled, or several with commas",
    },
    workflow: { type: "string", short: "w", value: "name", help: "only runs of this workflow" },
    tag: { type: "string", multiple: true, value: "name=value", help: "only runs with this tag" },
    limit: { type: "string", short: "n", value: "1000", help: "at most so many runs" },
    "dry-run": { type: "boolean", help: "only say how many" },
  },
  more: [
    "What forks read is kept until the last of them is gone. A purge that was stopped can be started again.",
  ],
  run: async (context) => {
    const { flags, term, answer, session, streams } = context;
    const options = optionsOf(flags);
    const { app } = await session();
    const would = await app.purge({ ...options, dryRun: true, signal: streams.signal });
    if (flags.on("dry-run")) {
      answer({
        json: { dryRun: true, ...would },
        text: [`Would remove ${textOf(would)}.`, ...detailsOf(would)],
      });
      return exit.ok;
    }
    await confirmCount(context, { verb: "remove", amount: would.runs, byFilter: true });
    let said = 0;
    const purged = await app.purge({
      ...options,
      signal: streams.signal,
      onProgress: ({ runs }) => {
        if (runs - said < 1_000) return;
        said = runs;
        term.say(styled("dim", `  ${runs} of ${would.runs} runs`));
      },
    });
    answer({ json: { ...purged }, text: [`Removed ${textOf(purged)}.`, ...detailsOf(purged)] });
    return exit.ok;
  },
};

function textOf({ runs, children }: Purged): string {
  return `${plural(runs, "run")}${children === 0 ? "" : ` and ${children === 1 ? "1 child" : `${children} children`}`}`;
}

function detailsOf({ byWorkflow, left }: Purged): string[] {
  const workflows = Object.entries(byWorkflow).toSorted(([, a], [, b]) => b - a);
  const stay = `  ${plural(left, "run")} stayed: a child has not ended, or the run changed meanwhile.`;
  return [
    ...workflows.map(([name, count]) => styled("dim", `  ${count} of ${name || "(no workflow)"}`)),
    ...(left === 0 ? [] : [styled("yellow", stay)]),
  ];
}

/** The library checks ages and statuses. */
function optionsOf(flags: Flags): PurgeOptions {
  const olderThan = flags.text("older-than") as Duration | undefined;
  const [keep, limit] = [wholeOf(flags, "keep"), wholeOf(flags, "limit")];
  if (olderThan === undefined && keep === undefined)
    throw new CliError("Say which runs may go: --older-than 30d, or --keep 1000.");
  return {
    olderThan,
    keep,
    limit,
    status: flags.text("status")?.split(",") as EndStatus[] | undefined,
    workflow: flags.text("workflow"),
    tags: tagsOf(flags.list("tag")),
  };
}

function wholeOf(flags: Flags, name: string): number | undefined {
  const text = flags.text(name);
  if (text === undefined || /^\d{1,15}$/.test(text)) return text === undefined ? undefined : Number(text);
  throw new CliError(`--${name} takes a whole number.`);
}

function tagsOf(given: readonly string[]): Readonly<Record<string, string>> | undefined {
  if (given.length === 0) return undefined;
  return Object.fromEntries(
    given.map((text) => {
      const at = text.indexOf("=");
      if (at < 1) throw new CliError(`--tag takes name=value, not "${text}".`);
      return [text.slice(0, at), text.slice(at + 1)];
    }),
  );
}
