/**
 * Chapters: `ctx.continueAs` ends the current one and begins the next.
 *
 * chapters.1. The next chapter begins with one entry in a batch of its own, which has all that its readers need.
 * chapters.2. It has a nonce of its own, so its waits, tokens, keys, children and draws share nothing with the one before.
 * chapters.3. A child that has not ended would lose its parent, so a chapter does not end before its children.
 */

import type { Definition } from "../engine/definition.ts";
import type { Engine } from "../engine/engine.ts";
import { failure, type Finish } from "../engine/stop.ts";
import { decode } from "../values/codec/decode.ts";
import { encode } from "../values/codec/encode.ts";
import { DurableError } from "../values/errors.ts";
import { encodeInput, newNonce } from "./lookup.ts";
import type { RunJournal } from "../journal/journal.ts";
import type { Json } from "../values/codec/tags.ts";
import { carried } from "./send.ts";
import { defined } from "../values/options.ts";

/** How the workflow function ends when it continues with this input. An invalid input fails the run. */
export function nextChapter(engine: Engine, definition: Definition, input: unknown): Promise<Finish> {
  const { journal } = engine;
  const { runId } = journal;
  engine.placement.assertOutsideSteps("ctx.continueAs()");
  const [child] = engine.calls.unfinished("child", "spawn");
  if (child !== undefined) {
    throw new DurableError(
      "open-child",
      `Run ${runId} cannot begin a chapter before its child "${child}" has ended. Await it first.`,
      { details: { key: child } },
    );
  }
  // Copied at once, so that later changes to the value have no effect, and a value that cannot be kept throws here.
  const where = `input of the next chapter of run ${runId}`;
  const copy = decode(encode(input, where), where);
  return encodeInput(definition, copy).then(
    async (json) => {
      const nonce = newNonce(engine.world, `${runId} ${journal.chapter + 1}`);
      const raised = engine.budgets.raised(engine.ending.code);
      return beginning(journal, definition, {
        input: json,
        nonce,
        ...(raised.some((more) => more > 0) && { raised }),
      });
    },
    (thrown: unknown) => failure(thrown, runId),
  );
}

export function beginning(
  journal: RunJournal,
  { name: workflow, version }: Definition,
  given: { readonly input: Json; readonly nonce: string; readonly raised?: readonly number[] },
): Finish {
  const { runId, childOf, spawnedBy, schedule, first } = journal;
  const budgets = first.kind === "run.forked" ? undefined : first.budgets;
  return {
    fact: (leftovers) => {
      const { endsBy, summary, mailbox, report } = journal.state;
      const { createdAt, steps, label, parent, ancestors, flow } = summary;
      const { readsFrom, tags, usage, inherited, scope, scores } = summary;
      const messages = carried(mailbox);
      return {
        kind: "run.continued",
        runId,
        workflow,
        version,
        ...given,
        ...defined({ childOf, spawnedBy, schedule, messages, flow }),
        ...(journal.state.endsSpawned ? { endsSpawned: true } : {}),
        chapter: journal.chapter + 1,
        base: journal.seq,
        first: journal.firstInput,
        ...(endsBy === null ? {} : { deadline: endsBy }),
        ...(budgets === undefined ? {} : { budgets }),
        head: {
          createdAt,
          steps,
          label,
          parent,
          ancestors,
          ...defined({ readsFrom, tags, usage, inherited, scope, scores }),
        },
        ...(report === null ? {} : { report: report.value }),
        ...leftovers,
      };
    },
  };
}
