/** The first entry of the next chapter of a run. Loaded when a run continues. */

import type { Definition } from "../engine/definition.ts";
import type { Finish } from "../engine/stop.ts";
import type { RunJournal } from "../journal/journal.ts";
import type { Json } from "../values/codec/tags.ts";
import { carried } from "./send.ts";

export function beginning(
  journal: RunJournal,
  { name: workflow, version }: Definition,
  given: { readonly input: Json; readonly nonce: string },
): Finish {
  const { runId, childOf, spawnedBy } = journal;
  return {
    fact: (leftovers) => {
      const { endsBy, summary, mailbox, report } = journal.state;
      const { createdAt, steps, label, parent, ancestors, readsFrom, tags, flow } = summary;
      const messages = carried(mailbox);
      return {
        kind: "run.continued",
        runId,
        workflow,
        version,
        ...given,
        ...(childOf === undefined ? {} : { childOf }),
        ...(spawnedBy === undefined ? {} : { spawnedBy }),
        ...(journal.state.endsSpawned ? { endsSpawned: true } : {}),
        chapter: journal.chapter + 1,
        base: journal.seq,
        first: journal.firstInput,
        ...(endsBy === null ? {} : { deadline: endsBy }),
        head: {
          createdAt,
          steps,
          label,
          parent,
          ancestors,
          ...(readsFrom === undefined ? {} : { readsFrom }),
          ...(tags === undefined ? {} : { tags }),
        },
        ...(messages === undefined ? {} : { messages }),
        ...(report === null ? {} : { report: report.value }),
        ...(flow === undefined ? {} : { flow }),
        ...leftovers,
      };
    },
  };
}
