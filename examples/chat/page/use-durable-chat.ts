/**
 * `useChat` with what a durable server adds: answers that go on after a lost connection, other tabs, and a
 * stop that stops the run.
 *
 * D1. The server knows the conversation. A page that is opened, or hears of a turn in another tab, reads it, and then the answer
 *     that is being written from its beginning.
 */

import { useChat } from "@ai-sdk/react";
import type { ChatAnswer } from "@durable/ai-sdk/chat";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { Notes, Thumb } from "../src/notes.ts";
import { giveThumb, knownOf, steer, type Known } from "./server.ts";
import { createTransport } from "./transport.ts";

/** The connection to the server: `replayed` after an answer was continued from the journal. */
export type Link = "up" | "lost" | "replayed";

export function useDurableChat(id: string) {
  const { link, onLost, onFound, forgetLink } = useLink();
  /** Something happened that this page has not seen. It is loaded once the page is idle. */
  const [isBehind, setBehind] = useState(true);
  /** The server has not said yet whether there is an answer to show. */
  const [isLoading, setLoading] = useState(true);
  /** The run that this page shows. */
  const run = useRef<string | null>(null);
  const tabs = useMemo(() => new BroadcastChannel(`chat ${id}`), [id]);

  const transport = useMemo(
    () =>
      createTransport({
        onLost,
        onFound: () => {
          setLoading(false);
          onFound();
        },
        onRun: (runId, isNew) => {
          // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has no target
          if (isNew) tabs.postMessage("turn");
          run.current = runId;
        },
      }),
    [tabs, onLost, onFound],
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
  const isBusy = status === "submitted" || status === "streaming";

  const note = useCallback(() => setBehind(true), []);
  useOthers(id, tabs, run, note);
  const { answers, notes, learn, rate } = useKnown(id, !isBusy && !isLoading, { onLost, onFound });
  useEffect(() => {
    if (!isBehind || isBusy) return;
    setBehind(false);
    // A message that is sent meanwhile would get its answer twice: from its own response, and from this one.
    setLoading(true);
    const load = async (): Promise<void> => {
      const known = await patiently(() => knownOf(id), onLost);
      onFound();
      setMessages(known.messages);
      learn(known);
      run.current = known.answers.at(-1)?.runId ?? null;
      await resumeStream();
    };
    void load();
  }, [id, isBehind, isBusy, learn, onFound, onLost, resumeStream, setMessages]);
  /** Ends the run. Closing the connection would not. */
  const stop = useCallback(() => transport.stop(id), [transport, id]);
  /** The server may die before it has the message, or before it says so: it is said again, to the same run. */
  const steerAnswer = useCallback(
    async (text: string) => {
      const runId = run.current;
      if (runId === null) return "ended";
      const messageId = crypto.randomUUID();
      const result = await patiently(() => steer(runId, text, messageId), onLost);
      onFound();
      return result;
    },
    [onLost, onFound],
  );
  return { ...chat, stop, link, isBusy, isLoading, forgetLink, answers, notes, rate, steer: steerAnswer };
}

/** The answers of the chat, also those that were replaced, and what belongs to each. */
function useKnown(
  id: string,
  isIdle: boolean,
  { onLost, onFound }: Pick<ReturnType<typeof useLink>, "onLost" | "onFound">,
) {
  const [answers, setAnswers] = useState<readonly ChatAnswer[]>([]);
  const [notes, setNotes] = useState<Notes>({});
  const learn = useCallback((known: Pick<Known, "answers" | "notes">): void => {
    setAnswers(known.answers);
    setNotes(known.notes);
  }, []);
  // What an answer cost, and how it ended, is known when it has ended.
  useEffect(() => {
    if (!isIdle) return undefined;
    let isMine = true;
    void patiently(() => knownOf(id), onLost).then((known) => {
      onFound();
      if (isMine) learn(known);
    });
    return () => void (isMine = false);
  }, [id, isIdle, learn, onLost, onFound]);
  const rate = async (runId: string, thumb: Thumb): Promise<void> =>
    setNotes(await giveThumb(id, runId, thumb));
  return { answers, notes, learn, rate };
}

/** Hears of turns in other tabs and on other devices. */
function useOthers(
  id: string,
  tabs: BroadcastChannel,
  run: { readonly current: string | null },
  note: () => void,
): void {
  useEffect(() => {
    // Another device tells no tab of this one.
    const look = async (): Promise<void> => {
      if (document.visibilityState !== "visible") return;
      const { answers: known } = await knownOf(id);
      if (known.at(-1)?.runId !== run.current) note();
    };
    const onVisible = (): void => void look().catch(() => {});
    tabs.addEventListener("message", note);
    document.addEventListener("visibilitychange", onVisible);
    return () => {
      tabs.removeEventListener("message", note);
      document.removeEventListener("visibilitychange", onVisible);
    };
  }, [id, tabs, run, note]);
}

function useLink() {
  const [link, setLink] = useState<Link>("up");
  const onLost = useCallback(() => setLink("lost"), []);
  const onFound = useCallback(() => setLink((before) => (before === "lost" ? "replayed" : before)), []);
  /** What the page says about the connection is about the current answer. */
  const forgetLink = useCallback(() => setLink((before) => (before === "replayed" ? "up" : before)), []);
  return { link, onLost, onFound, forgetLink };
}

/** Tries for as long as the server is away. */
async function patiently<T>(work: () => Promise<T>, onLost: () => void): Promise<T> {
  for (let delay = 200; ; delay = Math.min(2 * delay, 2_000)) {
    try {
      return await work();
    } catch {
      onLost();
    }
    await new Promise((resolve) => setTimeout(resolve, delay));
  }
}
