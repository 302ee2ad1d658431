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
  /** Something happened that this page has not seen. It is loaded once the page is idle. */
  const [isBehind, setBehind] = useState(true);
  /** The server has not said yet whether there is an answer to show. */
  const [isLoading, setLoading] = useState(true);
  /** The run that this page shows. */
  const run = useRef<string | null>(null);
  const show = useRef<(messages: UIMessage[]) => void>(() => {});
  const tabs = useMemo(() => new BroadcastChannel(`chat ${id}`), [id]);

  const transport = useMemo(
    () =>
      createTransport({
        onLost: () => setLink("lost"),
        onFound: () => {
          setLoading(false);
          setLink((before) => (before === "lost" ? "replayed" : before));
        },
        onRun: async (runId, isNew) => {
          // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has no target
          if (isNew) tabs.postMessage("turn");
          else if (run.current !== runId) show.current(await messagesOf(runId));
          run.current = runId;
        },
      }),
    [tabs],
  );
  const chat = useChat({
    id,
    transport,
    // Words arrive faster than anyone reads, and each would draw the page again.
    throttle: 50,
    // The answer is no longer the one of which this page has a part: it is loaded from its beginning.
    onError: (error) => setBehind(error instanceof TypeError),
  });
  const { setMessages, resumeStream, status } = chat;
  show.current = setMessages;
  const isBusy = status === "submitted" || status === "streaming";

  useEffect(() => {
    const note = (): void => setBehind(true);
    // Another device tells no tab of this one.
    const look = async (): Promise<void> => {
      if (document.visibilityState === "visible" && (await lastRun(id)) !== run.current) note();
    };
    const onVisible = (): void => void look().catch(() => {});
    tabs.addEventListener("message", note);
    document.addEventListener("visibilitychange", onVisible);
    return () => {
      tabs.removeEventListener("message", note);
      document.removeEventListener("visibilitychange", onVisible);
    };
  }, [tabs, id]);
  useEffect(() => {
    if (!isBehind || isBusy) return;
    setBehind(false);
    // A message that is sent meanwhile would get its answer twice: from its own response, and from this one.
    setLoading(true);
    void resumeStream();
  }, [isBehind, isBusy, resumeStream]);

  /** Ends the run. Closing the connection would not. */
  const stop = useCallback(() => transport.stop(id), [transport, id]);
  /** What the page says about the connection is about the current answer. */
  const forgetLink = useCallback(() => setLink((before) => (before === "replayed" ? "up" : before)), []);
  return { ...chat, stop, link, isBusy, isLoading, forgetLink };
}

/** The run of the chat's last turn, without its answer. */
async function lastRun(chatId: string): Promise<string | null> {
  const cut = new AbortController();
  const { headers } = await fetch(`/api/chat/${encodeURIComponent(chatId)}/stream`, { signal: cut.signal });
  cut.abort();
  return headers.get("x-durable-run-id");
}

/** The conversation that a run answers: its input, as the journal has it. */
async function messagesOf(runId: string): Promise<UIMessage[]> {
  const response = await fetch(`/api/runs/${encodeURIComponent(runId)}/entries?limit=1`);
  const { entries } = (await response.json()) as { entries: { input?: { messages: UIMessage[] } }[] };
  return entries[0]?.input?.messages ?? [];
}
