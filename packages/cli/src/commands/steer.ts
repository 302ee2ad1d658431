/** `durable pause`, `durable unpause` and `durable retry`: operators' verbs on runs, and pauses of a whole workflow. */

import type { App, Duration, ListedRun, Outcome } from "@durable/core";
import { chosenRuns, confirmCount } from "../choose.ts";
import type { Command, CommandContext, OptionSpecs } from "../command.ts";
import { CliError, exit } from "../exit.ts";
import { filterOptions } from "../options.ts";
import { filterOf, isEmpty, shortId } from "../runs.ts";
import { plural } from "../text/format.ts";
import { statusText } from "../text/status.ts";
import { listing } from "./ls.ts";

interface Verb {
  readonly name: "pause" | "unpause" | "retry";
  readonly done: string;
  /** Which of the chosen runs it concerns. */
  readonly fits: (head: ListedRun) => boolean;
  readonly act: (app: App, runId: string, context: CommandContext) => Promise<Outcome<unknown>>;
}

const ended = new Set(["completed", "failed", "cancelled"]);

const dryRun: OptionSpecs = { "dry-run": { type: "boolean", help: "only say which runs" } };
const reason: OptionSpecs = { reason: { type: "string", value: "text", help: "shown with the pause" } };
const all: OptionSpecs = {
  all: {
    type: "boolean",
    help: "with --workflow: the workflow itself, with all runs that are started later",
  },
};

export const pause: Command = {
  usage: "<run> ... [--reason text] | --workflow name --all",
  summary: "Stops runs until they are unpaused; answers are still recorded",
  arguments: [0, 100],
  examples: ['durable pause order-7 --reason "wrong address"', "durable pause --workflow refund --all"],
  options: { ...filterOptions, ...all, ...reason, ...dryRun },
  more: ["Without a run and without --workflow, it lists the paused workflows."],
  run: (context) =>
    ofWorkflow(context, "pause") ??
    onRuns(context, {
      name: "pause",
      done: "Paused",
      fits: ({ status }) => !ended.has(status) && status !== "paused",
      act: (app, runId, { flags }) => app.get(runId).pause({ reason: flags.text("reason") }),
    }),
};

export const unpause: Command = {
  usage: "<run> ... | --workflow name --all",
  summary: "Lets paused runs continue; a worker drives them",
  arguments: [0, 100],
  examples: ["durable unpause order-7", "durable unpause --workflow refund --all"],
  options: { ...filterOptions, ...all, ...dryRun },
  run: (context) =>
    ofWorkflow(context, "unpause") ??
    onRuns(context, {
      name: "unpause",
      done: "Unpaused",
      fits: ({ status }) => status === "paused",
      act: (app, runId) => app.get(runId).unpause({ drive: false }),
    }),
};

export const retry: Command = {
  usage: "<run> ... [--deadline 1d] [--step name] | --status failed --workflow name",
  summary: "Continues failed runs in place; a worker drives them",
  arguments: [0, 100],
  examples: ["durable retry order-7", "durable retry --status failed --since 1d --dry-run"],
  options: {
    ...filterOptions,
    deadline: { type: "string", value: "1d", help: "a new deadline, counted from now" },
    step: {
      type: "string",
      multiple: true,
      value: "name",
      help: "a failed step that begins anew; may be repeated. By default those that the error names",
    },
    ...dryRun,
  },
  run: (context) =>
    onRuns(context, {
      name: "retry",
      done: "Retried",
      fits: ({ status }) => status === "failed",
      act: (app, runId, { flags }) =>
        app.get(runId).retry({
          deadline: flags.text("deadline") as Duration | undefined,
          steps: stepsOf(flags),
          drive: false,
        }),
    }),
};

function stepsOf(flags: CommandContext["flags"]): readonly string[] | undefined {
  const steps = flags.list("step");
  return steps.length === 0 ? undefined : steps;
}

/** The verb on a whole workflow; `null` when the command is about runs. */
function ofWorkflow(context: CommandContext, verb: "pause" | "unpause"): Promise<number> | null {
  const { flags, args } = context;
  const workflow = flags.text("workflow");
  const lists = verb === "pause" && args.length === 0 && isEmpty(filterOf(flags, context));
  if (!flags.on("all") && !lists) return null;
  if (flags.on("all") && (workflow === undefined || args.length > 0))
    throw new CliError("--all needs --workflow, and no runs.");
  return changeWorkflow(context, verb, workflow);
}

async function changeWorkflow(
  { flags, session, answer }: CommandContext,
  verb: "pause" | "unpause",
  workflow: string | undefined,
): Promise<number> {
  const { app } = await session();
  if (workflow !== undefined)
    await (verb === "pause" ? app.pause(workflow, { reason: flags.text("reason") }) : app.unpause(workflow));
  const paused = await app.paused();
  const lines = paused.map((one) => ` ${one.workflow}${one.reason === null ? "" : `  ${one.reason}`}`);
  answer({
    json: { paused },
    text: lines.length === 0 ? ["No workflow is paused."] : ["Paused workflows:", ...lines],
  });
  return exit.ok;
}

async function onRuns(context: CommandContext, verb: Verb): Promise<number> {
  const { flags, term, answer, now, session } = context;
  const opened = await session();
  const { app, prices } = opened;
  const chosen = await chosenRuns(context, opened);
  const fitting = chosen.filter(verb.fits);
  if (chosen.length > 0 && fitting.length === 0)
    throw new CliError(
      `There is nothing to ${verb.name}: ${chosen.map(({ runId, status }) => `${shortId(runId)} is ${status}`).join(", ")}.`,
      { exit: exit.refused, code: `nothing-to-${verb.name}` },
    );
  if (flags.on("dry-run")) {
    answer({
      json: { dryRun: true, runs: fitting.map(({ runId }) => runId) },
      text: [
        ...listing(fitting, { term, now: now(), prices }),
        "",
        `Would ${verb.name} ${plural(fitting.length, "run")}.`,
      ],
    });
    return exit.ok;
  }
  const byFilter = context.args.length === 0;
  await confirmCount(context, { verb: verb.name, amount: fitting.length, byFilter });
  const done: { runId: string; status: string }[] = [];
  for (const { runId } of fitting) {
    const { status } = await verb.act(app, runId, context);
    done.push({ runId, status });
    if (!context.json) term.out(`${shortId(runId)} ${statusText(term, status)}`);
  }
  const more = verb.name === "pause" ? [] : ["a worker continues it, or durable wake with --app"];
  answer({
    json: { runs: done },
    text: done.length === 1 ? [] : [`${verb.done} ${plural(done.length, "run")}.`],
    next: more,
  });
  return exit.ok;
}
