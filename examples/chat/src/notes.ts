/**
 * What the page shows below an answer: what it cost, from the journal of its run, and the thumb of the user.
 *
 *     GET  /api/notes/{chatId}          the notes of all answers of a chat
 *     POST /api/notes/{chatId}          { runId, thumb }: "up", "down", or null to take it back
 *
 * N1. A thumb is a score of the run that answered, which the dashboard and evals see, too: `durable ls --where 'score:thumb<1'`.
 *     It is deleted with its run.
 */

import { usageOf } from "@durable/ai-sdk";
import { chatMessages } from "@durable/ai-sdk/chat";
import type { App } from "@durable/core";
import { scoresIn } from "@durable/core/inspect";
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
    if (request.method === "POST") {
      // JSON is not sent by forms of other pages.
      const isJson = request.headers.get("content-type") === "application/json";
      const { success, data } = given.safeParse(isJson ? await request.json().catch(() => null) : null);
      if (!success || !answers.some(({ runId }) => runId === data.runId))
        return new Response(null, { status: 400 });
      await app.get(data.runId).score("thumb", data.thumb && data.thumb === "up");
    }
    const notes = answers.map(async ({ runId }): Promise<[string, Note]> => {
      const entries = await app.get(runId).entries();
      const { inputTokens, outputTokens, cost } = usageOf(entries).total;
      const score = scoresIn(entries).find(({ name }) => name === "thumb");
      const thumb = score === undefined ? null : score.value > 0 ? "up" : "down";
      return [runId, { inputTokens, outputTokens, cost, thumb }];
    });
    return Response.json(Object.fromEntries(await Promise.all(notes)) satisfies Notes);
  };
}
