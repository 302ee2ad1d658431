/** Commands on many runs: which ones, and a confirmation that names their number. */

import type { App, ListedRun } from "@durable/core";
import type { Entry } from "@durable/core/types";
import { Asker } from "./ask.ts";
import type { CommandContext } from "./command.ts";
import { CliError, exit } from "./exit.ts";
import { allRuns, filterOf, findRun, isEmpty } from "./runs.ts";
import { locatorOf, stateIn, storageOf, viewRun } from "@durable/core/inspect";
import { beyondEnd } from "./look.ts";
import type { Session } from "./session.ts";
import { plural } from "./text/format.ts";

/** The runs of the arguments, or those of the filter. A filter that chooses everything is refused. */
export async function chosenRuns(
  { args, flags, term, now }: CommandContext,
  { app, prices, encrypted }: Pick<Session, "app" | "prices" | "encrypted">,
): Promise<ListedRun[]> {
  const filter = filterOf(flags, { now, term, prices, encrypted });
  if (args.length > 0 && !isEmpty(filter)) throw new CliError("Name runs or give a filter, not both.");
  if (args.length > 0) {
    const ids = await Promise.all(args.map((reference) => findRun(app, reference)));
    return Promise.all([...new Set(ids)].map((runId) => headOf(app, runId)));
  }
  if (isEmpty(filter))
    throw new CliError(
      "Name a run, or choose runs with --status, --waiting, --workflow, --before or --where.",
    );
  const found: ListedRun[] = [];
  for await (const head of allRuns(app, filter)) found.push(head);
  return found;
}

/** The head of one run, from its journal. A journal that cannot be read, such as a sealed one, has a head in the list. */
async function headOf(app: App, runId: string): Promise<ListedRun> {
  const entries = await app
    .get(runId)
    .entries({ struck: true })
    .catch((error: unknown) => error);
  if (!Array.isArray(entries)) {
    for await (const head of allRuns(app)) if (head.runId === runId) return head;
    throw entries;
  }
  const view = viewRun(entries as Entry[]);
  const { workflow, status, wakeAt, startedAt: createdAt, updatedAt, lineage, childOf } = view;
  const parent = lineage?.parent ?? childOf?.runId ?? null;
  const steps = view.totals.settled;
  const about = { runId, workflow, status, wakeAt, dueSince: wakeAt, createdAt, updatedAt, parent, steps };
  const beside = await (await storageOf(app)).read(locatorOf(runId), beyondEnd);
  const state = (await stateIn(app, beside)) ?? "running";
  return { ...about, state, locator: "", label: lineage?.label ?? null, ancestors: [] };
}

/** A change of many runs is confirmed by typing their number; without a terminal, by --yes. */
export async function confirmCount(
  { flags, term, streams, json }: CommandContext,
  { verb, amount, byFilter }: { readonly verb: string; readonly amount: number; readonly byFilter: boolean },
): Promise<void> {
  if (!byFilter || amount === 0 || flags.on("yes")) return;
  if (!term.interactive || flags.on("no-input") || json)
    throw new CliError(
      `This would ${verb} ${plural(amount, "run")}. Add --yes to do it, or --dry-run to see them.`,
      {
        exit: exit.refused,
        code: "needs-yes",
      },
    );
  const typed = await new Asker(term, streams).line(`Type ${amount} to ${verb} ${plural(amount, "run")}:`);
  if (typed.trim() !== String(amount))
    throw new CliError("Nothing was changed.", { exit: exit.refused, code: "not-confirmed" });
}
