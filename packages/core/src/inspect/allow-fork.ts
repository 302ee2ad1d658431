/**
 * What a fork needs permission for: the same on every surface, because an edit that answers a wait is an answer. Proven in
 * packages/http/test/policy.test.ts, packages/dashboard/test/policy.test.ts and packages/cli/test/mcp.test.ts.
 */

import type { Action } from "../ports/policy.ts";
import type { ForkOptions } from "../runs/fork.ts";
import type { EditedCalls } from "../runs/reader.ts";

/**
 * Asks for `fork` before anything is read, and then for what the edits of the fork are: `resume` for answers, also those
 * inside children, and `send` for messages. `fork` is asked again if the edits named their keys otherwise. `ask` throws to
 * refuse. Resolves with the options to fork with.
 */
export async function allowFork(
  run: { readonly id: string; editedCalls(names: readonly string[]): Promise<EditedCalls> },
  options: ForkOptions,
  ask: (action: Action) => Promise<unknown>,
): Promise<ForkOptions> {
  const { id, edit = {} } = options;
  const given = Object.keys(edit);
  const about = { runId: run.id, ...(id === undefined ? {} : { forkId: id }) };
  await ask({ type: "fork", ...about, ...(given.length > 0 && { edits: given }) });
  if (given.length === 0) return options;
  const { calls, chapter } = await run.editedCalls(given);
  const edits = calls.map(({ key }) => key);
  if (edits.some((key, i) => key !== given[i])) await ask({ type: "fork", ...about, edits });
  const waits = calls.filter(({ answers, topics }) => answers && topics === undefined).map(({ key }) => key);
  if (waits.length > 0) await ask({ type: "resume", ...about, edits, waits });
  for (const topic of new Set(calls.flatMap(({ topics = [] }) => topics)))
    await ask({ type: "send", ...about, edits, topic });
  // Keys and chapter as they were checked: by now the run may have a suspend point of that name.
  const values = Object.values(edit);
  return { ...options, edit: Object.fromEntries(edits.map((key, i) => [key, values[i]])), chapter };
}
