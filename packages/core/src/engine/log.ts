/**
 * `ctx.log` and `info.log`: lines that carry their run and their place.
 *
 * log.1. A line is not written while the code repeats what an earlier execution did. After a crash, lines since the
 *     latest entry may be written once more.
 */

import type { RunJournal } from "../journal/journal.ts";
import { toConsole, type LogFields, type Logger, type World } from "../ports/world.ts";
import type { Watch } from "./hooks.ts";

interface Logged {
  readonly world: World;
  readonly journal: {
    readonly state: { readonly summary: { readonly runId: string; readonly workflow: string } };
  };
}

/** Lines of the work of a step, which is never repeated in vain; and of code, unless it `repeats`. */
export function logOf({ world, journal }: Logged, path: string, repeats = () => false): Logger {
  const lines = levels.map((level) => [
    level,
    (message: string, fields?: LogFields) => {
      if (repeats()) return;
      const { runId, workflow } = journal.state.summary;
      (world.log ?? toConsole)(level, message, { ...fields, runId, workflow, ...(path && { path }) });
    },
  ]);
  return Object.fromEntries(lines) as Logger;
}

const levels = ["debug", "info", "warn", "error"] as const;

interface Repeated {
  readonly journal: Pick<RunJournal, "entries" | "lost">;
  readonly replay: { readonly delivered: number };
  readonly options: { readonly watch: Watch };
}

/**
 * True while the code repeats itself. A recorded call shows that the code was at its `after`; a park shows that the code
 * had got everything before it. Once another driver has written, what this execution comes to was done there.
 */
export function repeats({ journal, replay, options: { watch } }: Repeated): boolean {
  watch.reached ??= journal.entries.reduce((most, entry) => {
    const at = entry.kind === "run.suspended" ? entry.seq : "after" in entry ? entry.after : -1;
    return entry.seq > watch.recorded ? most : Math.max(most, at);
  }, -1);
  return journal.lost || replay.delivered <= watch.reached;
}
