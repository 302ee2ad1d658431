/** The routes that fork a run or plan a fork. Proven in test/attacks.test.ts. */

import type { ForkOptions, Run } from "@durable/core";
import type { EditedCalls } from "@durable/core/inspect";
import { readJson } from "./body.ts";
import { json } from "./errors.ts";
import { refuse, type Service } from "./options.ts";
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

/** Asks for `fork`, and for `resume` if an edit answers a suspend point, before it does anything. */
async function withFork(
  service: Service,
  { request, runId }: Call,
  act: (run: Run, options: ForkOptions) => Promise<Response>,
): Promise<Response> {
  const run = service.app.get(runId);
  const names = ["from", "after", "edit", "input", "label", "id"];
  const options = forkOptionsIn(membersOf(await readJson(request, service.limits), names));
  const { id: forkId, edit = {} } = options;
  const edited = Object.keys(edit);
  const found = edited.length === 0 ? null : await lookUp(run, edited);
  const calls = found !== null && "calls" in found ? found.calls : [];
  const waits = calls.filter(({ open }) => open.wait !== undefined).map(({ key }) => key);
  const action = {
    runId,
    ...only("forkId", forkId),
    ...some("edits", calls.length > 0 ? calls.map(({ key }) => key) : edited),
    ...some("waits", waits),
  };
  const no =
    (await refuse(service, request, { type: "fork", ...action })) ??
    (waits.length === 0 ? null : await refuse(service, request, { type: "resume", ...action }));
  if (no !== null) return no;
  if (found === null) return act(run, options);
  if ("error" in found) throw found.error;
  // Keys and chapter as they were checked: by now the run may have a suspend point of that name.
  const values = Object.values(edit);
  const edits = Object.fromEntries(found.calls.map(({ key }, i) => [key, values[i]]));
  return act(run, { ...options, edit: edits, chapter: found.chapter });
}

/** An error is kept until the client has permission to hear it. */
async function lookUp(
  run: Run,
  names: readonly string[],
): Promise<EditedCalls | { readonly error: unknown }> {
  try {
    return await run.editedCalls(names);
  } catch (error) {
    return { error };
  }
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
