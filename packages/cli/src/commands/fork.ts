/** `durable fork`: a new run that keeps recorded work of another. The old run stays as it is. */

import type { App, ForkOptions, Outcome } from "@durable/core";
import type { ForkPlan, PlannedCall, Spend } from "@durable/core/inspect";
import type { RunView } from "@durable/core/inspect";
import type { Command, CommandContext } from "../command.ts";
import { untilStop } from "../drive.ts";
import { CliError, exit, exitOfStatus } from "../exit.ts";
import { lookAt } from "../look.ts";
import { findRun, shortId } from "../runs.ts";
import { styled, type Style, type Terminal } from "../terminal.ts";
import { money, plural, tokens } from "../text/format.ts";
import { statusText } from "../text/status.ts";
import { readPairs, readValue } from "../values.ts";

export const fork: Command = {
  usage: "<run> --from <step> | --turn <number> | --after <step> | --edit <step>=<json> | --from-failure",
  summary: "Makes a new run that keeps recorded work of another",
  arguments: [1, 1],
  examples: [
    "durable fork order-7 --from draft --dry-run",
    'durable fork order-7 --edit plan=@plan.json --label "shorter plan"',
  ],
  options: {
    from: {
      type: "string",
      multiple: true,
      value: "step",
      help: "runs this step again, and what came after it",
    },
    turn: {
      type: "string",
      multiple: true,
      value: "number",
      help: "asks this turn of an agent again: 1 is the first, -1 the last",
    },
    after: {
      type: "string",
      multiple: true,
      value: "step",
      help: "keeps this step; what came after it runs again",
    },
    edit: {
      type: "string",
      multiple: true,
      value: "step=json",
      help: "another output for a step, or another answer",
    },
    output: {
      type: "string",
      value: "json",
      help: "with one --from: the output of that step, which then does not run",
    },
    input: { type: "string", value: "json", help: "another input for the run" },
    "from-failure": { type: "boolean", help: "from the step that failed" },
    label: { type: "string", value: "text", help: "a short text for lists" },
    id: { type: "string", value: "id", help: "the id of the fork" },
    chapter: { type: "string", value: "number", help: "an earlier chapter" },
    "dry-run": { type: "boolean", help: "shows what would be reused and what would run, and its cost" },
  },
  more: ["Values are JSON, text, @file or - for stdin."],
  run: async (context) => {
    const {
      args: [reference = ""],
      flags,
      term,
      streams,
      answer,
      session,
      now,
    } = context;
    const { app, prices } = await session("code");
    const parent = await findRun(app, reference);
    const { view } = await lookAt(app, parent, { now: now() });
    const options = await optionsOf(context, view);
    const run = app.get(parent);
    const plan = await run.plan({ ...options, ...(prices === undefined ? {} : { prices }) });
    if (flags.on("dry-run")) {
      answer({ json: { dryRun: true, plan: planJson(plan) }, text: planLines(plan, term) });
      return plan.blocked === null ? exit.ok : exit.refused;
    }
    if (plan.blocked !== null) throw plan.blocked;
    const made = await run.fork(options);
    const outcome = await untilStop(made, streams.signal);
    answer({
      json: { runId: made.id, parent, status: outcome.status, plan: planJson(plan) },
      text: [
        `${styled("magenta", term.glyph("⑂", "fork"))} ${made.id} of ${shortId(parent)}`,
        ...summaryLines(plan, term),
        statusText(term, outcome.status, endText(outcome)),
      ],
      next: [`durable show ${shortId(made.id)}`, `durable diff ${shortId(made.id)}`],
    });
    return exitOfStatus(outcome.status);
  },
};

async function optionsOf({ flags, streams }: CommandContext, view: RunView): Promise<ForkOptions> {
  const from = [...flags.list("from"), ...(flags.on("from-failure") ? [failureOf(view)] : [])];
  const turns = flags.list("turn").map((turn) => ({ turn: Number(turn) }));
  const after = flags.list("after");
  const edit: Record<string, unknown> = { ...(await readPairs(flags.list("edit"), streams)) };
  const output = flags.text("output");
  if (output !== undefined) {
    const [step] = from;
    if (from.length !== 1 || step === undefined) throw new CliError("--output goes with exactly one --from.");
    edit[step] = await readValue(output, streams);
    from.length = 0;
  }
  if (from.length + turns.length + after.length + Object.keys(edit).length === 0)
    throw new CliError("Say where the fork begins: --from, --turn, --after, --edit or --from-failure.");
  const input = flags.text("input");
  const chapter = flags.text("chapter");
  return {
    ...(from.length + turns.length > 0 ? { from: [...from, ...turns] } : {}),
    ...(after.length > 0 ? { after } : {}),
    ...(Object.keys(edit).length > 0 ? { edit } : {}),
    ...(input === undefined ? {} : { input: await readValue(input, streams) }),
    ...(chapter === undefined ? {} : { chapter: Number(chapter) }),
    label: flags.text("label"),
    id: flags.text("id"),
  };
}

/** The step that failed last; if only the code failed, the last step that settled. */
export function failureOf({ runId, rows, status }: RunView): string {
  const work = rows.filter(({ kind }) => kind !== "parallel" && kind !== "race" && kind !== "branch");
  const failed = work.findLast((row) => row.status === "failed" || row.status === "expired");
  if (failed !== undefined) return failed.key;
  const last = status === "failed" ? work.findLast(({ seq }) => seq !== null) : undefined;
  if (last !== undefined) return last.key;
  throw new CliError(`Run ${runId} has no failed step. Name a step with --from.`, {
    exit: exit.refused,
    code: "no-failure",
  });
}

export function planJson(plan: ForkPlan): Readonly<Record<string, unknown>> {
  const { parent, calls, saved, atStake, blocked, unsure } = plan;
  return {
    parent,
    calls,
    saved,
    atStake,
    blocked: blocked === null ? null : { code: blocked.code, message: blocked.message },
    unsure,
  };
}

const looks: Record<PlannedCall["what"], readonly [string, string, Style]> = {
  reused: ["↺", "<", "dim"],
  edited: ["✎", "e", "yellow"],
  runs: ["▶", ">", "cyan"],
  waits: ["⏸", "?", "yellow"],
};

function planLines(plan: ForkPlan, term: Terminal): string[] {
  const lines = plan.calls.map(({ key, was, what, next, usage }) => {
    const [fancy, ascii, style] = looks[what];
    const used = usage.reduce(
      (sum, { inputTokens, outputTokens }) => [(sum[0] ?? 0) + inputTokens, (sum[1] ?? 0) + outputTokens],
      [0, 0],
    );
    const spent = tokens({ inputTokens: used[0] ?? 0, outputTokens: used[1] ?? 0 });
    const about = [what, next ? "first" : "", was === undefined ? "" : `was ${was}`, spent]
      .filter(Boolean)
      .join(", ");
    return ` ${styled(style, term.glyph(fancy, ascii))} ${key}  ${styled("dim", about)}`;
  });
  return [`Plan of a fork of ${shortId(plan.parent)}:`, "", ...lines, "", ...summaryLines(plan, term)];
}

function summaryLines({ calls, saved, atStake, blocked, unsure }: ForkPlan, term: Terminal): string[] {
  const amount = (what: PlannedCall["what"]): number => calls.filter((call) => call.what === what).length;
  const kept = amount("reused") + amount("edited");
  return [
    `${term.glyph("↺", "<")} ${plural(kept, "call")} from the journal${costOf(saved)}, ${plural(amount("runs"), "call")} to run${costOf(atStake)}`,
    ...(blocked === null ? [] : [styled("red", `${blocked.code}: ${blocked.message}`)]),
    ...(unsure.length === 0
      ? []
      : [styled("yellow", `unsure until the new work is over: ${unsure.join(", ")}`)]),
  ];
}

function endText(outcome: Outcome<unknown>): string {
  const waits = "waiting" in outcome ? outcome.waiting.map(({ key }) => key) : [];
  return waits.length === 0 ? outcome.status : `${outcome.status} at ${waits.join(", ")}`;
}

/** Forks and waits for the next stop: for tools. */
export async function forkRun(
  app: App,
  runId: string,
  options: ForkOptions,
): Promise<{ runId: string; status: string }> {
  const made = await app.get(runId).fork(options);
  const { status } = await untilStop(made);
  return { runId: made.id, status };
}

function costOf(spend: Spend): string {
  const parts = [money(spend.cost), tokens(spend) && `${tokens(spend)} tokens`].filter(Boolean);
  return parts.length === 0 ? "" : ` (${parts.join(", ")})`;
}
