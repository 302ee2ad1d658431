/** `durable cancel`: ends runs and their children. */

import type { Command } from "../command.ts";
import { CliError, exit } from "../exit.ts";
import { filterOptions } from "../options.ts";
import { chosenRuns, confirmCount } from "../choose.ts";
import { shortId } from "../runs.ts";
import { plural } from "../text/format.ts";
import { statusText } from "../text/status.ts";
import { listing } from "./ls.ts";

export const cancel: Command = {
  usage: "<run> ... [--reason text] | --status suspended --workflow name",
  summary: "Ends runs and their children; the journal stays",
  arguments: [0, 100],
  options: {
    ...filterOptions,
    reason: { type: "string", value: "text", help: "recorded with the end" },
    force: { type: "boolean", help: "end at once, without clean-up and compensation" },
    "dry-run": { type: "boolean", help: "only say which runs" },
  },
  run: async (context) => {
    const { flags, term, answer, now, session } = context;
    const { app } = await session();
    const chosen = await chosenRuns(context, app);
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
        text: [...listing(open, term, now()), "", `Would cancel ${plural(open.length, "run")}.`],
      });
      return exit.ok;
    }
    await confirmCount(context, { verb: "cancel", amount: open.length, byFilter: context.args.length === 0 });
    const done: { runId: string; status: string; cancelling?: true }[] = [];
    for (const { runId } of open) {
      const outcome = await app.cancel(runId, flags.text("reason"), { force: flags.on("force") });
      const { status } = outcome;
      const cleansUp = "cancelling" in outcome && outcome.cancelling !== undefined;
      done.push({ runId, status, ...(cleansUp ? { cancelling: true as const } : {}) });
      const text = cleansUp ? "cancelling: a worker cleans up" : status;
      if (!context.json) term.out(`${shortId(runId)} ${statusText(term, status, text)}`);
    }
    answer({
      json: { runs: done },
      text: done.length === 1 ? [] : [`Cancelled ${plural(done.length, "run")}.`],
    });
    return exit.ok;
  },
};
