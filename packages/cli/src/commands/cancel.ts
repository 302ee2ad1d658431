/** `durable cancel`: ends runs and their children. */

import type { App, RunHead } from "@durable/core";
import { settled } from "@durable/core/inspect";
import type { Command, CommandContext } from "../command.ts";
import { cancelRun, type Cancelled } from "../drive.ts";
import { CliError, exit } from "../exit.ts";
import { filterOptions } from "../options.ts";
import { chosenRuns, confirmCount } from "../choose.ts";
import { shortId } from "../runs.ts";
import { plural } from "../text/format.ts";
import { statusText } from "../text/status.ts";
import { listing } from "./ls.ts";

/** How many runs clean up at the same time. */
const atOnce = 16;
/** How often a cancel of many runs says how far it is, in milliseconds. */
const sayEvery = 2_000;

export const cancel: Command = {
  usage: "<run> ... [--reason text] | --status suspended --workflow name",
  summary: "Ends runs and their children; the journal stays",
  arguments: [0, 100],
  examples: [
    'durable cancel order-7 --reason "out of stock"',
    "durable cancel --status suspended --workflow refund --before 30d --dry-run",
  ],
  options: {
    ...filterOptions,
    reason: { type: "string", value: "text", help: "recorded with the end" },
    force: { type: "boolean", help: "end at once, without clean-up and compensation" },
    "dry-run": { type: "boolean", help: "only say which runs" },
  },
  more: [
    "With the code of the workflow the command waits until the runs have cleaned up. Ctrl-C leaves the rest to a worker.",
    "Without the code it only records the cancellation, and a worker cleans up.",
  ],
  run: async (context) => {
    const { flags, term, answer, now, session } = context;
    const opened = await session();
    const { app, prices } = opened;
    const chosen = await chosenRuns(context, opened);
    const open = chosen.filter(
      ({ status }) => status !== "completed" && status !== "failed" && status !== "cancelled",
    );
    if (chosen.length > 0 && open.length === 0)
      throw new CliError(`${plural(chosen.length, "run")} ended before. Nothing was changed.`, {
        exit: exit.refused,
        code: "ended",
      });
    if (flags.on("dry-run")) {
      answer({
        json: { dryRun: true, runs: open.map(({ runId }) => runId) },
        text: [
          ...listing(open, { term, now: now(), prices }),
          "",
          `Would cancel ${plural(open.length, "run")}.`,
        ],
      });
      return exit.ok;
    }
    await confirmCount(context, { verb: "cancel", amount: open.length, byFilter: context.args.length === 0 });
    const done = await cancelAll(context, app, open);
    // Children clean up on their own, and a parent goes on when its child has ended.
    await settled(app);
    const left = open.length - done.length;
    answer({
      json: { runs: done },
      text: [
        ...(done.length === 1 && left === 0 ? [] : [`Cancelled ${plural(done.length, "run")}.`]),
        ...(left === 0 ? [] : [`Stopped before ${plural(left, "more run")}, which stay as they are.`]),
      ],
    });
    return exit.ok;
  },
};

/** In the order of the list, several at a time. On Ctrl-C no further run is cancelled. */
async function cancelAll(
  { flags, term, streams, json }: CommandContext,
  app: App,
  runs: readonly RunHead[],
): Promise<Cancelled[]> {
  const done: Cancelled[] = [];
  const options = { reason: flags.text("reason"), force: flags.on("force") };
  const queue = runs.values();
  const one = async (): Promise<void> => {
    for (const { runId } of queue) {
      if (streams.signal?.aborted === true) return;
      const cancelled = await cancelRun(app, runId, options);
      done.push(cancelled);
      if (!json) term.out(`${shortId(runId)} ${statusText(term, cancelled.status, endText(cancelled))}`);
    }
  };
  const say = (): void => {
    if (runs.length > 1) term.say(`  ${done.length} of ${plural(runs.length, "run")}`);
  };
  const progress = setInterval(say, sayEvery);
  try {
    await Promise.all(Array.from({ length: Math.min(atOnce, runs.length) }, one));
  } finally {
    clearInterval(progress);
  }
  return done;
}

function endText({ status, cancelling }: Cancelled): string {
  if (cancelling !== true) return status;
  return status === "running" ? "cancelling: a worker cleans up" : `cancelling: ${status}`;
}
