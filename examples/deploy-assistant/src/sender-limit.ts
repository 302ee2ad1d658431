/**
 * How many conversations a sender may start. The journal is the only memory here, too: the id of a run begins with a
 * hash of its sender, so that the runs of the last hour can be counted, by every server on the journal.
 */

import { createHash } from "node:crypto";
import { DurableError, type App } from "@durable/core";
import { workflowName } from "./assistant.ts";

const prefix = "deploy-";
const senderDigits = 12;
const messageDigits = 20;
const hourMs = 60 * 60_000;

function hex(text: string, digits: number): string {
  return createHash("sha256").update(text).digest("hex").slice(0, digits);
}

/** One mail of one sender is one run. The sender is part of it, so that nobody can take the id of another's mail. */
export function runIdOf(sender: string, messageId: string): string {
  return `${prefix}${hex(sender.toLowerCase(), senderDigits)}${hex(messageId, messageDigits)}`;
}

/** True when this run would be one too many. A mail that has its run already is never too many. */
export async function isOverLimit(app: App, id: string, limit = Infinity): Promise<boolean> {
  if (limit === Infinity) return false;
  const sender = id.slice(0, prefix.length + senderDigits);
  const since = app.world.now() - hourMs;
  let found = 0;
  for (let cursor: string | null = null; ;) {
    const { runs, next } = await app.list({ workflow: workflowName, limit: 500, cursor });
    found += runs.filter(({ runId, createdAt }) => createdAt > since && runId.startsWith(sender)).length;
    if (found >= limit) return !(await exists(app, id));
    // Newest first.
    if (next === null || (runs.at(-1)?.createdAt ?? 0) <= since) return false;
    cursor = next;
  }
}

async function exists(app: App, id: string): Promise<boolean> {
  try {
    await app.get(id).outcome();
    return true;
  } catch (error) {
    if (DurableError.is(error, "not-found")) return false;
    throw error;
  }
}
