/** Runs whose code is here are driven at once; others wait for a worker. Proven in test/actions.test.ts. */

import { within } from "@durable/http/kit";
import { viewRun } from "@durable/core/inspect";
import { Refusal } from "../errors.ts";
import type { Service } from "../options.ts";
import { said } from "./request.ts";

/** After this time the page gets an answer, and the run goes on in the background. */
export const answerMs = 1_500;

/** Drives a run, and answers when it stops, or after some time. */
export async function drive({ app, onError }: Service, runId: string, message: string): Promise<Response> {
  const driving = app.advance(runId);
  await within(driving, answerMs);
  // No request is left to report a later failure to.
  driving.catch(onError);
  return said(message, runId);
}

/** Drives a run whose code is here; otherwise only answers. */
export async function driveWithCode(service: Service, runId: string, message: string): Promise<Response> {
  return (await hasCode(service, runId)) ? drive(service, runId, message) : said(message, runId);
}

export async function hasCode({ app, code }: Service, runId: string): Promise<boolean> {
  return code.has(viewRun(await app.get(runId).entries()).workflow);
}

export function assertCode({ code }: Service, workflow: string): void {
  if (code.has(workflow)) return;
  throw new Refusal(
    "no-code",
    `The code of workflow "${workflow}" is not loaded here. Start the dashboard with the app that has it.`,
  );
}
