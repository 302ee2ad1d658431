/** `durable rm`: removes runs and their children. */

import { chosenRuns, confirmCount } from "../choose.ts";
import type { Command } from "../command.ts";
import { exit } from "../exit.ts";
import { filterOptions } from "../options.ts";
import { plural } from "../text/format.ts";
import { listing } from "./ls.ts";

export const rm: Command = {
  usage: "<run> ... | --status completed --before 30d",
  summary: "Removes runs and their children; what forks still read is kept",
  arguments: [0, 100],
  examples: ["durable rm order-7", "durable rm --status completed --before 30d --dry-run"],
  options: { ...filterOptions, "dry-run": { type: "boolean", help: "only say which runs" } },
  run: async (context) => {
    const { flags, term, answer, now, session, args } = context;
    const opened = await session();
    const { app, prices } = opened;
    const chosen = await chosenRuns(context, opened);
    const runs = chosen.map(({ runId }) => runId);
    if (flags.on("dry-run")) {
      const text = chosen.length === 0 ? [] : [...listing(chosen, { term, now: now(), prices }), ""];
      answer({
        json: { dryRun: true, runs },
        text: [...text, `Would remove ${plural(runs.length, "run")}.`],
      });
      return exit.ok;
    }
    const byFilter = args.length === 0;
    await confirmCount(context, { verb: "remove", amount: runs.length, byFilter });
    const removed: string[] = [];
    for (const runId of runs) {
      // It may be gone already, together with its parent.
      const gone = await app.delete(runId).then(
        () => true,
        (error: unknown) => {
          if ((error as { code?: unknown }).code === "not-found") return false;
          throw error;
        },
      );
      if (gone) removed.push(runId);
    }
    answer({ json: { runs: removed }, text: [`Removed ${plural(removed.length, "run")}.`] });
    return exit.ok;
  },
};
