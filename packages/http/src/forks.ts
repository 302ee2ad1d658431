/** The routes that fork a run or plan a fork. Proven in test/attacks.test.ts. */

import type { Action, ForkOptions, Run } from "@durable/core";
import { readJson } from "./body.ts";
import { json } from "./errors.ts";
import { allow, type Service } from "./options.ts";
import { accepted, only, reasonOf } from "./replies.ts";
import { membersOf, objectIn, runIdOf, textIn, textsIn } from "./request-fields.ts";
import type { Call } from "./router.ts";
import { toJson } from "./to-json.ts";

export async function forkRun(service: Service, call: Call): Promise<Response> {
  return withFork(service, call, async (run, options) => {
    const { id } = await run.fork(options);
    return accepted(service, { runId: id, status: "running" });
  });
}

/** What a fork would do, with the parameters and the permission of a fork. */
export async function planRun(service: Service, call: Call): Promise<Response> {
  return withFork(service, call, async (run, options) => {
    const { parent, calls, saved, atStake, blocked } = await run.plan(options);
    const why = blocked === null ? null : reasonOf(blocked);
    return json(200, {
      parent,
      calls: toJson(calls),
      saved: toJson(saved),
      atStake: toJson(atStake),
      blocked: why,
    });
  });
}

/**
 * Asks for `fork` before anything is read, and then for what its edits are: answers and messages to others. By then the
 * keys are known, and `fork` is asked again if the request named them otherwise.
 */
async function withFork(
  service: Service,
  { request, runId }: Call,
  act: (run: Run, options: ForkOptions) => Promise<Response>,
): Promise<Response> {
  const names = ["from", "after", "edit", "input", "label", "id"];
  const options = forkOptionsIn(membersOf(await readJson(request, service.limits), names));
  const ask = (action: Action) => allow(service, request, action);
  return forkWith(service.app.get(runId), options, { ask, act: (given) => act(service.app.get(runId), given) });
}

/** Asks what a fork with these options may do, and then does it: the same on every surface. */
export async function forkWith<T>(
  run: Run,
  options: ForkOptions,
  { ask, act }: { ask: (action: Action) => Promise<unknown>; act: (options: ForkOptions) => Promise<T> },
): Promise<T> {
  const { id: forkId, edit = {} } = options;
  const given = Object.keys(edit);
  const about = { runId: run.id, ...only("forkId", forkId) };
  await ask({ type: "fork", ...about, ...some("edits", given) });
  if (given.length === 0) return act(options);
  const { calls, chapter } = await run.editedCalls(given);
  const edits = calls.map(({ key }) => key);
  if (edits.some((key, i) => key !== given[i])) await ask({ type: "fork", ...about, edits });
  const waits = calls.filter(({ answers, topics }) => answers && topics === undefined).map(({ key }) => key);
  if (waits.length > 0) await ask({ type: "resume", ...about, edits, waits });
  for (const topic of new Set(calls.flatMap(({ topics = [] }) => topics)))
    await ask({ type: "send", ...about, edits, topic });
  // Keys and chapter as they were checked: by now the run may have a suspend point of that name.
  const values = Object.values(edit);
  const edited = Object.fromEntries(edits.map((key, i) => [key, values[i]]));
  return act({ ...options, edit: edited, chapter });
}

/** What a fork is made of, from the members of a body. */
export function forkOptionsIn(members: Readonly<Record<string, unknown>>): ForkOptions {
  const id = textIn(members, "id");
  if (id !== undefined) runIdOf(id);
  return {
    ...only("from", textsIn(members, "from")),
    ...only("after", textsIn(members, "after")),
    ...only("edit", objectIn(members, "edit")),
    ...only("label", textIn(members, "label")),
    ...only("id", id),
    ...("input" in members ? { input: members["input"] } : {}),
  };
}

function some<K extends string>(
  name: K,
  keys: readonly string[],
): { readonly [key in K]?: readonly string[] } {
  return only(name, keys.length === 0 ? undefined : keys);
}
