/** `durable ls`: runs, newest first. */

import type { ListedRun, RunHead } from "@durable/core";
import type { Command, CommandContext } from "../command.ts";
import { CliError, exit } from "../exit.ts";
import { filterOptions } from "../options.ts";
import { filterOf, isEmpty, shortId, someRuns, type Filter } from "../runs.ts";
import type { Session } from "../session.ts";
import { listedFacts, plain, type Prices } from "@durable/core/inspect";
import { duration, inline, money, when, zoneName } from "../text/format.ts";
import { ownSpent } from "../text/spent.ts";
import { statusText } from "../text/status.ts";
import { table } from "../text/table.ts";
import { styled, type Terminal } from "../terminal.ts";

export const ls: Command = {
  usage:
    "[--status failed] [--waiting] [--workflow name] [--tag name=value] [--since 1d] [--q text] [--limit 20]",
  summary: "Lists runs, newest first",
  arguments: [0, 0],
  examples: [
    "durable ls --status failed --since 1d",
    "durable ls --tag customer=42",
    "durable ls --waiting",
    "durable ls --where 'workflow:refund error:429 cost>0.5'",
  ],
  options: {
    ...filterOptions,
    limit: { type: "string", short: "n", value: "20", help: "how many runs at most" },
    cursor: { type: "string", value: "next", help: "goes on where the last page ended, as it says" },
  },
  run: async (context) => {
    const limit = Number(context.flags.text("limit") ?? 20);
    if (!Number.isInteger(limit) || limit < 1)
      throw new CliError("--limit takes a whole number of at least 1.");
    const session = await openOrNull(context);
    const filter = filterOf(context.flags, {
      ...context,
      prices: session?.prices,
      encrypted: session?.encrypted,
    });
    if (session === null) return empty(context, filter, null);
    const cursor = context.flags.text("cursor") ?? null;
    const { runs, next } = await someRuns(session.app, { filter, limit, cursor });
    if (runs.length === 0) return empty(context, filter, session.label);
    context.answer({
      json: {
        store: session.label,
        runs: runs.map((head) => headJson(head, session.prices)),
        more: next !== null,
        next,
      },
      text: listing(runs, { term: context.term, now: context.now(), prices: session.prices }),
      ...(next === null ? {} : { next: [`more: the same with --cursor ${next}`] }),
    });
    return exit.ok;
  },
};

/** A project without any journal has no runs; it is not an error to ask. */
async function openOrNull(context: CommandContext): Promise<Session | null> {
  try {
    return await context.session();
  } catch (error) {
    if (error instanceof CliError && error.code === "not-found" && context.flags.text("store") === undefined)
      return null;
    throw error;
  }
}

function empty({ answer, term, json }: CommandContext, filter: Filter, label: string | null): number {
  const filtered = !isEmpty(filter);
  const text = filtered
    ? ["No run fits this filter."]
    : [
        `No runs yet${label === null ? "" : ` in ${label}`}.`,
        "",
        '  Start one in code:   await flow.run(input, { id: "demo" })',
        "  A first workflow:    durable init",
        "  Another journal:     durable ls --store <path or URL>",
      ];
  answer({
    json: { store: label, runs: [], more: false, next: null },
    text: text.map((line) => (line.startsWith(" ") ? styled("dim", line) : line)),
  });
  if (filtered && !json) term.say(styled("dim", "  all runs: durable ls"));
  return exit.ok;
}

/** The head of a run for machines. */
export function headJson(head: ListedRun, prices?: Prices): Readonly<Record<string, unknown>> {
  const { blocked, report } = head;
  return {
    ...listedFacts(head),
    ...ownSpent(head, prices),
    ...(report === undefined ? {} : { report: plain(report) }),
    ...(blocked === undefined
      ? {}
      : { blocked: { code: blocked.code, message: blocked.message, since: blocked.since } }),
  };
}

/** Heads as a table. */
export function listing(
  heads: readonly ListedRun[],
  {
    term,
    now,
    prices,
  }: { readonly term: Terminal; readonly now: number; readonly prices?: Prices | undefined },
): string[] {
  const rows = heads.map((head) => [
    statusText(term, head.state),
    head.workflow || styled("dim", "(no workflow)"),
    term.live ? shortId(head.runId) : head.runId,
    when(head.createdAt, now, term),
    tookOf(head, now),
    String(head.steps),
    money(ownSpent(head, prices).cost || null),
    noteOf(head, term, now),
  ]);
  return table(
    [
      { title: "STATE" },
      { title: "WORKFLOW", least: 10 },
      { title: "RUN", least: 12 },
      { title: `STARTED (${zoneName(now, term)})`, optional: true },
      { title: "TOOK", right: true, optional: true },
      { title: "STEPS", right: true, optional: true },
      { title: "COST", right: true, optional: true },
      { title: "", least: 8, optional: true },
    ],
    rows,
    term.tableWidth,
  );
}

/** A run with ancestors reads their journals, as a fork; others with a parent are children. */
function originOf(ancestors: readonly string[], term: Terminal): string {
  return ancestors.length > 0 ? term.glyph("⑂", "<") : "child of";
}

function tookOf({ status, createdAt, updatedAt }: RunHead, now: number): string {
  const ended = status === "completed" || status === "failed" || status === "cancelled";
  return duration((ended ? updatedAt : Math.max(now, updatedAt)) - createdAt);
}

function noteOf(
  {
    state,
    wakeAt,
    waits,
    blocked,
    error,
    label,
    parent,
    ancestors,
    tags = {},
    scores = {},
    report,
  }: ListedRun,
  term: Terminal,
  now: number,
): string {
  // What reads a pipe gets it all.
  const most = term.live ? 60 : Infinity;
  const parts = [
    ...(blocked === undefined ? [] : [styled("red", blocked.code === "corrupt" ? "damaged" : blocked.code)]),
    ...(error === undefined ? [] : [styled("red", inline(error.message ?? error.code, most))]),
    ...(waits?.question === undefined ? [] : [styled("yellow", inline(waits.question, most))]),
    ...((state === "sleeping" || state === "waiting") && wakeAt !== null
      ? [`until ${when(wakeAt, now, term)}`]
      : []),
    ...(label === null ? [] : [label]),
    ...Object.entries(tags).map(([name, value]) => `${name}=${value}`),
    ...Object.entries(scores).map(([name, value]) => `${name}=${value}`),
    ...(parent === null ? [] : [styled("dim", `${originOf(ancestors, term)} ${shortId(parent)}`)]),
    ...(report === undefined ? [] : [inline(report, most)]),
  ];
  return parts.join(" ");
}
