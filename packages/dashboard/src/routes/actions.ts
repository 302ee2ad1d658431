/**
 * What a person can do with a run. Proven in test/actions.test.ts.
 *
 * actions.1. No action rewrites history: each appends an entry, or makes a new run.
 * actions.2. Tokens stay on the server. The page names a wait by its key.
 */

import { DurableError, type ForkOptions, type ResumeResult, type SuspendPoint } from "@durable/core";
import { wakeRun } from "@durable/core/tools";
import { viewRun } from "@durable/core/view";
import type { ActionReply, PlanReply } from "../api.ts";
import { json, Refusal } from "../errors.ts";
import type { Call, Service } from "../options.ts";
import { readBody, textIn } from "./request.ts";

/** After this time the page gets an answer, and the run goes on in the background. */
const answerMs = 1_500;

const said: Readonly<Record<ResumeResult["status"], string>> = {
  accepted: "Your answer was received.",
  duplicate: "This wait was answered before. Your answer was not used.",
  expired: "This wait has expired. Your answer was not used.",
  invalid: "Your answer does not fit the schema.",
  unknown: "This wait no longer exists.",
};

export async function answer(service: Service, { request, runId }: Call): Promise<Response> {
  const body = await readBody(request);
  const key = textIn(body, "key") ?? "";
  if (!("value" in body)) throw new Refusal("invalid-body", `"value" is missing.`);
  const { app, code } = service;
  const view = viewRun(await app.get(runId).entries());
  const wait = (await waitsOf(service, runId)).find((point) => point.key === key);
  if (wait === undefined) return reply(409, { message: said.duplicate, runId });
  if (wait.topic !== undefined)
    return reply(409, { message: `This call waits for a message: send one to "${wait.topic}".`, runId });
  // Without the code the answer is checked by the process that has it.
  const answered = code.has(view.workflow)
    ? app.resume(wait.token, body["value"])
    : app.deliver(wait.token, body["value"]);
  const result = await within(answered, async () => {
    const { waits } = viewRun(await app.get(runId).entries());
    return waits.some((open) => open.key === key && !open.answered) ? null : { status: "accepted" as const };
  });
  watch(service, answered);
  const issues = result.issues === undefined ? "" : ` ${result.issues}`;
  return reply(result.status === "accepted" ? 200 : result.status === "invalid" ? 422 : 409, {
    message: said[result.status] + issues,
    runId,
  });
}

async function waitsOf({ app }: Service, runId: string): Promise<readonly SuspendPoint[]> {
  const outcome = await app.get(runId).outcome();
  return "waiting" in outcome ? outcome.waiting : [];
}

/** The result of work, or what `look` finds, once some time has passed. */
async function within<T>(work: Promise<T>, look: () => Promise<T | null>): Promise<T> {
  for (;;) {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<null>((resolve) => {
      timer = setTimeout(resolve, answerMs, null);
    });
    const result = await Promise.race([work, late]).finally(() => clearTimeout(timer));
    const found = result ?? (await look());
    if (found !== null) return found;
  }
}

/** Work that goes on after the answer: a failure is reported, because no request is left to report it to. */
function watch({ onError }: Service, work: Promise<unknown>): void {
  work.catch(onError);
}

export async function plan(service: Service, { request, runId }: Call): Promise<Response> {
  const options = forkOptions(await readBody(request));
  await assertCode(service, runId);
  const { blocked, ...rest } = await service.app.get(runId).plan({ ...options, prices: service.prices });
  return json(200, { ...rest, blocked: blocked?.message ?? null } satisfies PlanReply);
}

export async function forkRun(service: Service, { request, runId }: Call): Promise<Response> {
  const options = forkOptions(await readBody(request));
  await assertCode(service, runId);
  const { id } = await service.app.get(runId).fork(options);
  return reply(200, { message: "The fork was created.", runId: id });
}

function forkOptions(body: Readonly<Record<string, unknown>>): ForkOptions {
  const { from, after, edit, input, label } = body;
  for (const name of ["from", "after", "label"]) textIn(body, name);
  if (edit !== undefined && (typeof edit !== "object" || edit === null || Array.isArray(edit)))
    throw new Refusal("invalid-body", `"edit" must be an object of outputs by key.`);
  return {
    ...(from === undefined ? {} : { from: from as string }),
    ...(after === undefined ? {} : { after: after as string }),
    ...(edit === undefined ? {} : { edit: edit as Record<string, unknown> }),
    ...(label === undefined || label === "" ? {} : { label: label as string }),
    ...("input" in body ? { input } : {}),
  };
}

async function assertCode({ app, code }: Service, runId: string): Promise<void> {
  const { workflow } = viewRun(await app.get(runId).entries());
  if (code.has(workflow)) return;
  throw new Refusal(
    "no-code",
    `The code of workflow "${workflow}" is not loaded here. Start the dashboard with the app that has it.`,
  );
}

/** Ends the sleeps of a run. Where the code is, the run is driven at once. */
export async function wake(service: Service, { runId }: Call): Promise<Response> {
  const slept = await wakeRun(service.app, runId);
  if (slept.length === 0) throw new DurableError("conflict", `Run ${runId} does not sleep.`);
  const message = `The run was woken: ${slept.join(", ")}.`;
  const { workflow } = viewRun(await service.app.get(runId).entries());
  return service.code.has(workflow) ? drive(service, runId, message) : reply(200, { message, runId });
}

/** Drives a run, and answers when it stops, or after some time. */
export async function drive(service: Service, runId: string, message: string): Promise<Response> {
  const driving = service.app.advance(runId);
  await within(
    driving.then(() => true),
    () => Promise.resolve(true),
  );
  watch(service, driving);
  return reply(200, { message, runId });
}

export async function cancel(service: Service, { request, runId }: Call): Promise<Response> {
  const reason = textIn(await readBody(request), "reason");
  const outcome = await service.app.cancel(runId, reason === "" ? undefined : reason);
  const { status } = outcome;
  if ("cancelling" in outcome && outcome.cancelling !== undefined)
    return reply(200, { message: "The run is cancelled, and cleans up.", runId });
  if ("failing" in outcome && outcome.failing !== undefined)
    return reply(409, { message: "The run has failed before, and undoes its steps.", runId });
  const message = status === "cancelled" ? "The run was cancelled." : `The run had ended before: ${status}.`;
  return reply(status === "cancelled" ? 200 : 409, { message, runId });
}

function reply(status: number, body: ActionReply): Response {
  return json(status, status < 400 ? body : { error: { code: "refused", message: body.message } });
}
