import { useEffect, useRef, useState } from "react";
import { Composer } from "./composer.tsx";
import { MessageView } from "./message-view.tsx";
import { openQuestion } from "./mail-card.tsx";
import { useDurableChat } from "./use-durable-chat.ts";

const suggestions = [
  "Why are there two tides a day?",
  "What happens if the server dies now?",
  "Send an e-mail to the harbour about tomorrow's tide.",
];

export function ChatPage({ id, onNew }: { readonly id: string; readonly onNew: () => void }) {
  const chat = useDurableChat(id);
  const { messages, isBusy, isLoading, sendMessage } = chat;
  const [stopped, setStopped] = useState(false);
  const [trouble, setTrouble] = useState<string | null>(null);
  useFollow(messages.length);

  const begin = (work: () => Promise<void>): void => {
    setStopped(false);
    setTrouble(null);
    chat.forgetLink();
    void work();
  };
  const send = (text: string): void => begin(() => sendMessage({ text }));
  const stop = async (): Promise<void> => {
    try {
      await chat.stop();
      setStopped(true);
    } catch {
      setTrouble("Not stopped: the server does not respond.");
    }
  };

  return (
    <div className="page">
      <header>
        <span className="logo">
          <i />
          durable chat
        </span>
        <button type="button" className="btn" onClick={onNew}>
          New chat
        </button>
      </header>
      <main>
        {messages.length === 0 ? (
          !isLoading && <Welcome onPick={send} />
        ) : (
          <ol className="messages" aria-label="Conversation">
            {messages.map((message, index) => (
              <MessageView
                key={message.id}
                message={message}
                isLast={index === messages.length - 1}
                isBusy={isBusy || isLoading}
                onEdit={(text) => begin(() => sendMessage({ text, messageId: message.id }))}
                onRegenerate={() => begin(() => chat.regenerate({ messageId: message.id }))}
              />
            ))}
          </ol>
        )}
      </main>
      <footer>
        <StatusLine chat={chat} stopped={stopped} trouble={trouble} />
        <Composer isBusy={isBusy} isLoading={isLoading} onSend={send} onStop={() => void stop()} />
      </footer>
    </div>
  );
}

function Welcome({ onPick }: { readonly onPick: (text: string) => void }) {
  return (
    <section className="welcome">
      <h1>Ask something</h1>
      <p>
        Answers are recorded before they are shown. Kill the server in the middle of one, start it again, and
        it goes on.
      </p>
      <ul>
        {suggestions.map((text) => (
          <li key={text}>
            <button type="button" className="chip" onClick={() => onPick(text)}>
              {text}
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

interface StatusParts {
  readonly chat: ReturnType<typeof useDurableChat>;
  readonly stopped: boolean;
  readonly trouble: string | null;
}

function StatusLine(parts: StatusParts) {
  const { kind, text } = statusOf(parts);
  return (
    <p className={`status ${kind}`} role="status" aria-live="polite" data-state={kind}>
      {text}
    </p>
  );
}

/** One line that says what is going on, and nothing that the page does not know. */
function statusOf({ chat, stopped, trouble }: StatusParts): { readonly kind: string; readonly text: string } {
  const { link, status, isBusy, isLoading, messages, error } = chat;
  const waits = messages.at(-1)?.parts.some((part) => openQuestion(part) !== null) === true;
  if (link === "lost") return { kind: "lost", text: "Reconnecting… The answer is kept on the server." };
  if (trouble !== null) return { kind: "fail", text: trouble };
  const source = link === "replayed" ? " Continued from the journal." : "";
  if (isBusy && waits) return { kind: "waits", text: `Waiting for your decision.${source}` };
  if (isLoading) return { kind: "busy", text: "Loading…" };
  if (status === "submitted") return { kind: "busy", text: "Sending…" };
  if (isBusy) return { kind: "busy", text: `Answering…${source}` };
  if (error !== undefined) return { kind: "fail", text: "The answer could not be completed." };
  if (stopped) return { kind: "ready", text: "Stopped." };
  return {
    kind: "ready",
    text: link === "replayed" ? "Ready. The answer was continued from the journal." : "Ready.",
  };
}

/** Keeps the end of the conversation in view, unless the user scrolled up. A new message is always shown. */
function useFollow(count: number): void {
  const follows = useRef(true);
  useEffect(() => {
    const note = (): void => {
      const { scrollHeight, scrollTop, clientHeight } = document.documentElement;
      follows.current = scrollHeight - scrollTop - clientHeight < 60;
    };
    addEventListener("scroll", note, { passive: true });
    return () => removeEventListener("scroll", note);
  }, []);
  useEffect(() => {
    follows.current = true;
  }, [count]);
  useEffect(() => {
    if (follows.current) scrollTo({ top: document.documentElement.scrollHeight });
  });
}
