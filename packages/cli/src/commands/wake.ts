/** `durable wake`: ends sleeps now, and drives a run that has no driver. */

import { wakeRun } from "@durable/core/inspect";
import type { Command } from "../command.ts";
import { exit, exitOfStatus } from "../exit.ts";
import { lookAt } from "../look.ts";
import { findRun, shortId, wakeHint } from "../runs.ts";
import { statusText } from "../text/status.ts";

export const wake: Command = {
  usage: "<run>",
  summary: "Ends the sleeps of a run now, and drives a run that has no driver",
  arguments: [1, 1],
  examples: ["durable wake order-7"],
  options: { "no-drive": { type: "boolean", help: "only end the sleeps; a worker continues the run" } },
  more: ["Without the code of the workflow a worker continues the run."],
  run: async ({ args: [reference = ""], flags, term, now, session, answer }) => {
    const opened = await session();
    const { app } = opened;
    const runId = await findRun(app, reference);
    const { view } = await lookAt(app, runId, { now: now() });
    const woken = await wakeRun(app, runId);
    const drives = view.endedAt === null && !flags.on("no-drive") && app.workflows.includes(view.workflow);
    const outcome = drives ? await app.advance(runId) : null;
    const id = shortId(runId);
    const noCode = view.endedAt === null && !app.workflows.includes(view.workflow);
    const idle = `${id} was not asleep.${noCode ? ` The code of ${view.workflow} is not here, so nothing drives it: --app <file> names it.` : ""}`;
    const did = woken.length > 0 ? `Ended ${woken.join(", ")} of ${id}.` : idle;
    answer({
      json: { runId, woken, status: outcome?.status ?? view.status, driven: drives },
      text: [did, ...(outcome === null ? [] : [`${id} ${statusText(term, outcome.state)}`])],
      next:
        outcome === null && view.endedAt === null
          ? [`a worker continues it, or: ${wakeHint({ flags }, opened, runId)}`]
          : [`durable show ${id}`],
    });
    if (outcome !== null) return exitOfStatus(outcome.status);
    return woken.length > 0 ? exit.ok : exit.refused;
  },
};
