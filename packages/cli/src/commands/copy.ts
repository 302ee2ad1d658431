/** `durable copy`: runs from one storage to another. */

import type { Command } from "../command.ts";
import { copyAll } from "../copying.ts";
import { CliError } from "../exit.ts";
import { filterOptions } from "../options.ts";
import { readPrices } from "../session.ts";
import { filterOf, fits } from "../runs.ts";
import { openStore, placeOf } from "../store.ts";

export const copy: Command = {
  usage: "<from> <to> [--workflow name] [--status completed]",
  summary: "Copies runs from one storage to another, and compares what was written",
  arguments: [2, 2],
  examples: [
    "durable copy .durable/journal.db postgres://app@host/runs",
    "durable copy old.db new.db --workflow refund",
  ],
  options: filterOptions,
  more: [
    "Both are paths or URLs. The source is not changed, and in the target nothing is overwritten.",
    "Stop all workers before the last copy; see the guide on moving to another storage.",
  ],
  run: async (context) => {
    const {
      args: [source = "", target = ""],
      flags,
      streams,
    } = context;
    const [from, to] = [placeOf(source, streams), placeOf(target, streams)];
    if (from.label === to.label) throw new CliError("Both storages are the same.");
    const prices = readPrices(flags.text("prices"), streams.cwd);
    const filter = filterOf(flags, { ...context, prices });
    const reads = await openStore(from, streams);
    try {
      const writes = await openStore(to, { ...streams, create: true });
      try {
        return await copyAll(context, {
          from: reads,
          to: writes,
          label: to.label,
          filter: (head) => fits(head, filter),
        });
      } finally {
        await writes.close?.();
      }
    } finally {
      await reads.close?.();
    }
  },
};
