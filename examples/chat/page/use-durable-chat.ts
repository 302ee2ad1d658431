/**
 * `useChat` with what a durable server adds: answers that go on after a lost connection, other tabs, and a
 * stop that stops the run.
 *
 * D1. The server knows the conversation. A page that is opened, or hears of a turn in another tab, reads the
 *     messages of the chat's last run, and then its answer from the beginning.
 */

import { useChat } from "@ai-sdk/react";
import type { UIMessage } from "ai";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { createTransport } from "./transport.ts";

/** The connection to the server: `replayed` after an answer was continued from the journal. */
export type Link = "up" | "lost" | "replayed";

export function useDurableChat(id: string) {
  const [link, setLink] = useState<Link>("up");
  /** The run that this page shows. */
  const run = useRef<string | null>(null);
  const showMessages = useRef<(messages: UIMessage[]) => void>(() => {});
  const tabs = useMemo(() => new BroadcastChannel(`chat ${id}`), [id]);

  const transport = useMemo(
    () =>
      createTransport({
        onLost: () => setLink("lost"),
        onFound: () => setLink((before) => (before === "lost" ? "replayed" : before)),
        onResponse: async (runId, isNew) => {
          const isOther = run.current !== runId;
          run.current = runId;
          if (isNew) {
            setLink("up");
            tabs.postMessage("turn");
          } else if (isOther) showMessages.current(await messagesOf(runId));
        },
      }),
    [tabs],
  );
  const chat = useChat({ id, transport, resume: true });
  const { setMessages, resumeStream, status } = chat;
  showMessages.current = setMessages;
  const isBusy = status === "submitted" || status === "streaming";

  /** Another tab began a turn. It is shown once this page is idle. */
  const [behind, setBehind] = useState(false);
  useEffect(() => {
    const note = (): void => setBehind(true);
    const look = (): void => {
      if (document.visibilityState === "visible") note();
    };
    tabs.addEventListener("message", note);
    document.addEventListener("visibilitychange", look);
    return () => {
      tabs.removeEventListener("message", note);
      document.removeEventListener("visibilitychange", look);
    };
  }, [tabs]);
  useEffect(() => {
    if (!behind || isBusy) return;
    setBehind(false);
    void resumeStream();
  }, [behind, isBusy, resumeStream]);

  /** Ends the run. Closing the connection would not. */
  const stop = useCallback(async () => {
    await fetch(`/api/chat/${encodeURIComponent(id)}/stop`, { method: "POST" });
  }, [id]);

  return { ...chat, stop, link, isBusy };
}

/** The conversation that a run answers: its input, as the journal has it. */
async function messagesOf(runId: string): Promise<UIMessage[]> {
  const response = await fetch(`/api/runs/${encodeURIComponent(runId)}/entries?limit=1`);
  const { entries } = (await response.json()) as { entries: { input?: { messages: UIMessage[] } }[] };
  return entries[0]?.input?.messages ?? [];
}
