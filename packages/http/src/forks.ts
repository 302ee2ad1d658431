/** The routes that fork a run or plan a fork. Proven in test/attacks.test.ts. */

import type { EditedCalls, ForkOptions, Run } from "@durable/core";
import { readJson } from "./body.ts";
import { HttpError, json } from "./errors.ts";
import { type Call, refuse, type Service } from "./options.ts";
import { accepted, only, reasonOf } from "./replies.ts";
import { membersOf, runIdOf, textIn } from "./request-fields.ts";
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
  { request, params }: Call,
  act: (run: Run, options: ForkOptions) => Promise<Response>,
): Promise<Response> {
  const runId = runIdOf(params["runId"]);
  const run = service.app.get(runId);
  const options = await forkOptions(service, request);
  const { id: forkId, edit = {} } = options;
  const names = Object.keys(edit);
  const found = names.length === 0 ? null : await lookUp(run, names);
  const calls = found !== null && "calls" in found ? found.calls : [];
  const waits = calls.filter(({ open }) => open.wait !== undefined).map(({ key }) => key);
  const action = {
    runId,
    ...only("forkId", forkId),
    ...some("edits", calls.length > 0 ? calls.map(({ key }) => key) : names),
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

async function forkOptions(service: Service, request: Request): Promise<ForkOptions> {
  const names = ["from", "after", "edit", "input", "label", "id"];
  const members = membersOf(await readJson(request, service.limits), names);
  const edit = members["edit"];
  if (edit !== undefined && (typeof edit !== "object" || edit === null || Array.isArray(edit)))
    throw new HttpError("invalid-body", '"edit" must be an object of outputs by key.');
  const id = textIn(members, "id");
  if (id !== undefined) runIdOf(id);
  return {
    ...only("from", keysIn(members, "from")),
    ...only("after", keysIn(members, "after")),
    ...only("edit", edit as ForkOptions["edit"]),
    ...only("label", textIn(members, "label")),
    ...only("id", id),
    ...("input" in members ? { input: members["input"] } : {}),
  };
}

function keysIn(
  members: Readonly<Record<string, unknown>>,
  name: "from" | "after",
): string | string[] | undefined {
  const value = members[name];
  if (value === undefined || typeof value === "string") return value;
  if (Array.isArray(value) && value.every((key) => typeof key === "string")) return value;
  throw new HttpError("invalid-body", `"${name}" must be a key or a list of keys.`);
}

function some<K extends string>(
  name: K,
  keys: readonly string[],
): { readonly [key in K]?: readonly string[] } {
  return only(name, keys.length === 0 ? undefined : keys);
}
