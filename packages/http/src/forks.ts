/** The routes that fork a run or plan a fork. Proven in test/attacks.test.ts. */

import type { ForkOptions, Run } from "@durable/core";
import { allowFork } from "@durable/core/inspect";
import { readJson } from "./body.ts";
import { json } from "./errors.ts";
import { allow, type Service } from "./options.ts";
import { accepted, only, reasonOf } from "./replies.ts";
import { membersOf, objectIn, placesIn, runIdOf, textIn } from "./request-fields.ts";
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

async function withFork(
  service: Service,
  { request, runId }: Call,
  act: (run: Run, options: ForkOptions) => Promise<Response>,
): Promise<Response> {
  const names = ["from", "after", "edit", "input", "prompts", "label", "id"];
  const options = forkOptionsIn(membersOf(await readJson(request, service.limits), names));
  const run = service.app.get(runId);
  return act(run, await allowFork(run, options, (action) => allow(service, request, action)));
}

/** What a fork is made of, from the members of a body. */
export function forkOptionsIn(members: Readonly<Record<string, unknown>>): ForkOptions {
  const id = textIn(members, "id");
  if (id !== undefined) runIdOf(id);
  return {
    ...only("from", placesIn(members, "from")),
    ...only("after", placesIn(members, "after")),
    ...only("edit", objectIn(members, "edit")),
    ...only("prompts", objectIn(members, "prompts") as ForkOptions["prompts"]),
    ...only("label", textIn(members, "label")),
    ...only("id", id),
    ...("input" in members ? { input: members["input"] } : {}),
  };
}
