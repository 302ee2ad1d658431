/**
 * What the page shows below an answer: what it cost, from the journal of its run, and the thumb of the user.
 *
 *     GET  /api/notes/{chatId}          the notes of all answers of a chat
 *     POST /api/notes/{chatId}          { runId, thumb }: "up", "down", or null to take it back
 *
 * N1. A thumb is a record in a journal beside the chat. The last record of an answer counts.
 */

import { usageOf } from "@durable/ai-sdk";
import { chatMessages } from "@durable/ai-sdk/chat";
import { Journal, type App } from "@durable/core";
import { fingerprint } from "@durable/core/storage";
import { z } from "zod";

/** By run. */
export type Notes = Readonly<Record<string, Note>>;

export interface Note {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** In dollars; `null` if the price of the model is not known. */
  readonly cost: number | null;
  readonly thumb: Thumb;
}

export type Thumb = "up" | "down" | null;

const given = z.object({ runId: z.string(), thumb: z.enum(["up", "down"]).nullable() });

export function notesHandler(app: App, isAllowed: (request: Request) => boolean) {
  return async (request: Request): Promise<Response> => {
    if (!isAllowed(request)) return new Response(null, { status: 403 });
    const chatId = decodeURIComponent(new URL(request.url).pathname.slice("/api/notes/".length));
    const { answers } = await chatMessages(app, chatId);
    const journal = await Journal.open(`thumbs-${fingerprint(chatId)}`, { app });
    if (request.method === "POST") {
      // JSON is not sent by forms of other pages.
      const isJson = request.headers.get("content-type") === "application/json";
      const { success, data } = given.safeParse(isJson ? await request.json().catch(() => null) : null);
      if (!success || !answers.some(({ runId }) => runId === data.runId))
        return new Response(null, { status: 400 });
      await journal.record(`${data.runId} ${crypto.randomUUID()}`, () => data);
    }
    const thumbs = new Map<string, Thumb>();
    for (const entry of journal.entries())
      if (entry.kind === "step.completed") {
        const { runId, thumb } = entry.value as z.infer<typeof given>;
        thumbs.set(runId, thumb);
      }
    const notes = answers.map(async ({ runId }): Promise<[string, Note]> => {
      const { total } = usageOf(await app.get(runId).entries());
      const { inputTokens, outputTokens, cost } = total;
      return [runId, { inputTokens, outputTokens, cost, thumb: thumbs.get(runId) ?? null }];
    });
    return Response.json(Object.fromEntries(await Promise.all(notes)) satisfies Notes);
  };
}

/** Goes with its chat. */
export function deleteThumbs(app: App, chatId: string): Promise<void> {
  return Journal.delete(`thumbs-${fingerprint(chatId)}`, { app });
}
