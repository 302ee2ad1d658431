/**
 * Answers by token. The token is the permission: a client that has it may answer, once.
 *
 * T1. GET and HEAD answer and read nothing, so that a link scanner sees a page and changes nothing.
 * T2. The body is read before the token is checked, so that an error in the body reveals nothing about the
 *     token.
 * T3. Every invalid token gets the same response, byte for byte.
 * T4. An answer is durable before it is acknowledged; the run continues after the acknowledgement.
 */

import { type App, DurableError, type ResumeResult, type ResumeStatus } from "@durable/core";
import { assertType, formType, jsonType, parseForm, parseJson, readBytes } from "./body.ts";
import { HttpError, json } from "./errors.ts";
import type { Limits } from "./limits.ts";
import type { Service } from "./options.ts";
import { confirmPage, resultPage } from "./resume-page.ts";
import { membersOf, textIn } from "./request-fields.ts";
import type { Call } from "./router.ts";
import { within } from "./within.ts";

/** An answer, or an error with which the wait fails. */
interface Given {
  readonly value: unknown;
  readonly id?: string | undefined;
  /** The wait fails with it. */
  readonly error?: Error;
}

/** What becomes of the run after an answer. */
interface AnswerOptions {
  readonly answerMs: number;
  /** Gets what went wrong later. */
  readonly onError: (error: unknown) => void;
  /** Gets the work that is not done after `answerMs`. */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined;
  /** Drives the run elsewhere. */
  readonly handOn?: ((runId: string) => unknown) | null;
}

const longestValue = 4_096;
const longestId = 256;

/**
 * The page behind a link; `?value=` is the answer to confirm. Other parameters are ignored, because mail
 * gateways add them.
 */
export async function confirm(_service: Service, { url }: Call): Promise<Response> {
  const values = url.searchParams.getAll("value");
  if (values.length > 1 || (values[0]?.length ?? 0) > longestValue)
    throw new HttpError(
      "invalid-query",
      `"value" must be given once, with at most ${longestValue} characters.`,
    );
  return confirmPage(values[0] ?? null);
}

export async function answer(service: Service, { request, params }: Call): Promise<Response> {
  const type = assertType(request, [jsonType, formType]);
  const bytes = await readBytes(request, service.limits);
  const given = type === formType ? fromForm(bytes, service.limits) : fromJson(bytes, service.limits);
  const result = await answerWait(service.app, params["token"] as string, { ...service, ...given });
  const person = type === formType && (request.headers.get("accept") ?? "").includes("text/html");
  return person ? page(result) : reply(result);
}

function fromJson(bytes: Uint8Array, limits: Limits): Given {
  const members = membersOf(parseJson(bytes, limits), ["value", "error", "id"]);
  const id = answerId(textIn(members, "id"));
  if ("value" in members === "error" in members)
    throw new HttpError("invalid-body", 'Give "value", which is the answer, or "error", but not both.');
  if ("value" in members) return { value: members["value"], id };
  return { value: undefined, id, error: errorOf(members["error"]) };
}

/** `{ message, name, code }` as an error. */
function errorOf(given: unknown): Error {
  const members = membersOf(given, ["message", "name", "code"]);
  const [message, name, code] = ["message", "name", "code"].map((member) => textIn(members, member));
  if (message === undefined) throw new HttpError("invalid-body", '"error.message" is missing.');
  const error = Object.assign(new Error(message), code === undefined ? {} : { code });
  if (name !== undefined) error.name = name;
  // The stack of this server says nothing about the failure.
  error.stack = `${error.name}: ${message}`;
  return error;
}

/** A form has only text, so a field that contains JSON is parsed. */
function fromForm(bytes: Uint8Array, limits: Limits): Given {
  const fields = parseForm(bytes, limits);
  const [values, ids] = [fields.getAll("value"), fields.getAll("id")];
  const [text] = values;
  if (text === undefined || values.length > 1 || ids.length > 1 || fields.size > values.length + ids.length)
    throw new HttpError("invalid-body", 'The form must have one field "value", and may have one "id".');
  return { value: valueOf(text, limits), id: answerId(ids[0] || undefined) };
}

function valueOf(text: string, limits: Limits): unknown {
  try {
    return parseJson(new TextEncoder().encode(text), limits);
  } catch (error) {
    if (error instanceof HttpError && error.code === "invalid-json") return text;
    throw error;
  }
}

function answerId(id: string | undefined): string | undefined {
  if (id === undefined || (id.length > 0 && id.length <= longestId)) return id;
  throw new HttpError("invalid-body", `"id" must have 1 to ${longestId} characters.`);
}

/** Answers a wait, and waits for the run at most `answerMs`. Without its code, the answer is recorded. */
export async function answerWait(
  app: App,
  token: string,
  { value, id, error: failure, answerMs, onError, waitUntil, handOn = null }: Given & AnswerOptions,
): Promise<ResumeResult> {
  // An id makes the second delivery below the same answer.
  const options = { id: id ?? app.world.id(), error: failure };
  const record = (): Promise<ResumeResult> => app.resume(token, value, { ...options, drive: false });
  if (handOn !== null) {
    const result = await record();
    if (result.status === "accepted" && result.outcome !== undefined) await handOn(result.outcome.runId);
    return result;
  }
  const resuming = app.resume(token, value, options).catch((error: unknown) => {
    // The app does not have the workflow, so the answer is stored for one that has it.
    if (DurableError.is(error, "unknown-workflow")) return record();
    throw error;
  });
  const result = await within(resuming, answerMs);
  if (result !== null) return result;
  const running = resuming.catch(onError);
  waitUntil?.(running);
  // The answer that is recorded by now may be the one of this request.
  return { ...(await record()), repeated: false };
}

interface ReplyText {
  readonly http: number;
  readonly title: string;
  readonly text: string;
}

const replyTexts: Readonly<Record<ResumeStatus, ReplyText>> = {
  accepted: { http: 200, title: "Thank you", text: "Your answer was received." },
  duplicate: { http: 409, title: "Already answered", text: "This has been answered before." },
  expired: { http: 410, title: "Too late", text: "This answer is no longer needed." },
  invalid: { http: 422, title: "Not understood", text: "The answer does not fit the question." },
  unknown: { http: 404, title: "Not found", text: "There is nothing to answer here." },
};

function reply({ status, repeated, outcome, issues }: ResumeResult): Response {
  const { http, text } = replyTexts[status];
  return json(http, {
    status,
    repeated,
    ...(outcome === undefined ? {} : { runId: outcome.runId }),
    ...(issues === undefined ? {} : { issues }),
    ...(http === 200 ? {} : { error: { code: status, message: text } }),
  });
}

function page({ status, issues }: ResumeResult): Response {
  const { http, title, text } = replyTexts[status];
  return resultPage(http, title, issues === undefined ? text : `${text} ${issues}`);
}
