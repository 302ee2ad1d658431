/** Reads queries and bodies, within limits, and answers actions. Proven in test/server.test.ts. */

import { HttpError, readJson } from "@durable/http";
import { json, membersOf, textIn } from "@durable/http/kit";
import type { ActionReply } from "../api.ts";

const bytes = 4 * 1024 * 1024;
/** Edited outputs may be of any shape that a journal holds, so the bytes alone limit their parts. */
const limits = { bytes, stringBytes: bytes, keys: bytes, nodes: bytes, depth: 260, bodyTimeout: 30_000 };

/** A JSON object with these members. Nothing else is accepted, so that no form of another page can send one. */
export async function readBody(
  request: Request,
  names: readonly string[],
): Promise<Readonly<Record<string, unknown>>> {
  try {
    return membersOf(await readJson(request, limits), names);
  } catch (error) {
    // One code for the page, whatever is wrong with the body.
    if (error instanceof HttpError && error.status < 500) throw new HttpError("invalid-body", error.message);
    throw error;
  }
}

/** The reason that a body may give for an action. */
export async function reasonIn(request: Request): Promise<string | undefined> {
  return textIn(await readBody(request, ["reason"]), "reason") || undefined;
}

/** What an action did, in one sentence, and the run to open now. */
export function said(message: string, runId = "", status = 200): Response {
  const reply: ActionReply = { message, runId };
  return json(status, status < 400 ? reply : { error: { code: "refused", message } });
}

/** A whole number of a query, within bounds. */
export function numberIn(url: URL, name: string, bounds: { min: number; max: number; or: number }): number {
  const text = url.searchParams.get(name);
  if (text === null || text === "") return bounds.or;
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= bounds.min) return Math.min(value, bounds.max);
  throw new HttpError("invalid-query", `"${name}" must be a whole number of at least ${bounds.min}.`);
}

/** A list of a query, separated by commas. */
export function listIn(url: URL, name: string): string[] {
  return (url.searchParams.get(name) ?? "").split(",").filter((part) => part !== "");
}
