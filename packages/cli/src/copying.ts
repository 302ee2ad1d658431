/** Copies runs and reports the summary. */

import { copyRuns, type RunHead, type Storage } from "@durable/core";
import type { CommandContext } from "./command.ts";
import { exit } from "./exit.ts";
import { shortId } from "./runs.ts";
import { styled } from "./terminal.ts";
import { plural } from "./text/format.ts";

export interface Copying {
  readonly from: Storage;
  readonly to: Storage;
  readonly label: string;
  readonly filter?: ((head: RunHead) => boolean) | undefined;
}

export async function copyAll(
  { answer, streams, term }: CommandContext,
  { from, to, label, filter }: Copying,
): Promise<number> {
  let told = 0;
  const summary = await copyRuns(from, to, {
    filter,
    signal: streams.signal,
    onProgress: ({ done, total }) => {
      if (done - told < 1_000) return;
      told = done;
      term.say(styled("dim", `  ${done} of ${total} runs`));
    },
  });
  const schedules = (await from.schedules?.list())?.length ?? 0;
  const { runs, batches, bytes, skipped, refused, active } = summary;
  answer({
    json: {
      to: label,
      runs,
      batches,
      bytes,
      skipped,
      active,
      notCopied: { schedules },
      refused: refused.map(({ runId, error }) => ({ runId, code: error.code, message: error.message })),
    },
    text: [
      `Copied ${plural(runs, "run")} to ${label} (${plural(batches, "batch").replace("batchs", "batches")}, ${plural(bytes, "byte")}); ${skipped} there already.`,
      ...refused.map(({ runId, error }) =>
        styled("red", `  refused ${shortId(runId)}: ${error.code}: ${error.message}`),
      ),
      ...(active.length > 0
        ? [
            styled(
              "yellow",
              `  ${plural(active.length, "run")} changed during the copy: copy again when the source is quiet.`,
            ),
          ]
        : []),
      ...(schedules === 0
        ? []
        : [
            styled(
              "yellow",
              `  Schedules are not copied: make the ${schedules} of the source on the target, with app.schedule.`,
            ),
          ]),
    ],
  });
  return refused.length > 0 ? exit.refused : exit.ok;
}
