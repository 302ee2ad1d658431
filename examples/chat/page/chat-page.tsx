import type { FileUIPart } from "ai";
import { useEffect, useRef, useState } from "react";
import type { Thumb } from "../src/notes.ts";
import { Composer } from "./composer.tsx";
import { MessageView } from "./message-view.tsx";
import { openQuestion } from "./mail-card.tsx";
import { useDurableChat } from "./use-durable-chat.ts";

const suggestions = [
  "Why are there two tides a day?",
  "What happens if the server dies now?",
  "When is high water tomorrow in Cuxhaven?",
  "Send an e-mail to the harbour about tomorrow's tide.",
];

interface ChatPageProps {
  readonly id: string;
  /** Called when the list of chats may have changed. */
  readonly onTurn: () => void;
  readonly onList: () => void;
}

export function ChatPage({ id, onTurn, onList }: ChatPageProps) {
  const chat = useDurableChat(id);
  const { messages, isBusy, isLoading, answers, sendMessage } = chat;
  const [stopped, setStopped] = useState(false);
  const [trouble, setTrouble] = useState<string | null>(null);
  useFollow(messages.length);
  const turn = useRef(onTurn);
  turn.current = onTurn;
  useEffect(() => turn.current(), [answers.length, messages.length]);

  const begin = (work: () => Promise<void>): void => {
    setStopped(false);
    setTrouble(null);
    chat.forgetLink();
    void work();
  };
  const send = (text: string, files: readonly File[] = []): void =>
    begin(async () => {
      const parts = await Promise.all(files.map(filePart));
      await sendMessage({ ...(text === "" ? {} : { text }), files: parts });
    });
  const steering = useSteering(chat, send, setTrouble);
  const stop = async (): Promise<void> => {
    try {
      await chat.stop();
      setStopped(true);
    } catch {
      setTrouble("Not stopped: the server does not respond.");
    }
  };
  const rate = (runId: string, thumb: Thumb): void =>
    void chat.rate(runId, thumb).catch(() => setTrouble("Not kept: the server does not respond."));

  return (
    <div className="page">
      <Head onList={onList} />
      <main>
        {messages.length === 0 ? (
          !isLoading && <Welcome onPick={send} />
        ) : (
          <Messages chat={chat} waiting={steering.waiting} onBegin={begin} onRate={rate} />
        )}
      </main>
      <footer>
        <StatusLine chat={chat} stopped={stopped} trouble={trouble} />
        <Composer
          isBusy={isBusy}
          isLoading={isLoading}
          onSend={send}
          onSteer={steering.say}
          onStop={() => void stop()}
        />
      </footer>
    </div>
  );
}

function Head({ onList }: Pick<ChatPageProps, "onList">) {
  return (
    <header>
      <button type="button" className="btn menu" aria-label="Chats" onClick={onList}>
        ☰
      </button>
      <span className="logo">
        <i />
        durable chat
      </span>
    </header>
  );
}

interface MessagesProps {
  readonly chat: ReturnType<typeof useDurableChat>;
  /** Said to the answer that is being written, which does not have it yet. */
  readonly waiting: readonly string[];
  readonly onBegin: (work: () => Promise<void>) => void;
  readonly onRate: (runId: string, thumb: Thumb) => void;
}

function Messages({ chat, waiting, onBegin, onRate }: MessagesProps) {
  const { messages, isBusy, isLoading, answers, notes, sendMessage, regenerate } = chat;
  return (
    <ol className="messages" aria-label="Conversation">
      {messages.map((message, index) => (
        <MessageView
          key={message.id}
          message={message}
          question={messages.slice(0, index).findLast(({ role }) => role === "user")}
          isLast={index === messages.length - 1}
          isBusy={isBusy || isLoading}
          answers={answers}
          notes={notes}
          onEdit={(text, files) => onBegin(() => sendMessage({ text, files, messageId: message.id }))}
          onRegenerate={() => onBegin(() => regenerate({ messageId: message.id }))}
          onRate={onRate}
        />
      ))}
      {waiting.map((text) => (
        <li key={text} className="bubble steered">
          {text}
        </li>
      ))}
    </ol>
  );
}

/** What was said to an answer that is being written, until the answer has it. What comes too late is the next message. */
function useSteering(
  { messages, isBusy, isLoading, answers, steer }: ReturnType<typeof useDurableChat>,
  send: (text: string) => void,
  setTrouble: (text: string) => void,
) {
  const [said, setSaid] = useState<readonly string[]>([]);
  const taken = (messages.at(-1)?.parts ?? []).flatMap((part) =>
    part.type === "steering-message" ? part.parts.map((one) => ("text" in one ? one.text : "")) : [],
  );
  const waiting = said.filter((text) => !taken.includes(text));
  const isOver = !isBusy && !isLoading && answers.at(-1)?.state !== "open";
  const late = waiting.join("\n\n");
  const sendLate = useRef(send);
  sendLate.current = send;
  useEffect(() => {
    if (!isOver) return;
    setSaid([]);
    if (late !== "") sendLate.current(late);
  }, [isOver, late]);
  const say = (text: string): void => {
    setSaid((before) => [...before, text]);
    // An answer that has just ended does not take it, and it is sent below.
    void steer(text).then((result) => {
      if (result !== "refused") return;
      setSaid((before) => before.filter((one) => one !== text));
      setTrouble("Not said: the server refused it.");
    });
  };
  return { waiting, say };
}

async function filePart(file: File): Promise<FileUIPart> {
  const url = await new Promise<string>((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(reader.result as string));
    reader.addEventListener("error", () => reject(new Error(`"${file.name}" cannot be read.`)));
    reader.readAsDataURL(file);
  });
  return { type: "file", mediaType: file.type, filename: file.name, url };
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
