import type { ChatAnswer } from "@durable/ai-sdk/chat";
import type { FileUIPart, UIMessage } from "ai";
import { useState } from "react";
import type { Notes, Thumb } from "../src/notes.ts";
import { AnswerFoot } from "./answer-foot.tsx";
import { onEnter } from "./composer.tsx";
import { MailCard } from "./mail-card.tsx";
import { Markdown } from "./markdown/markdown.tsx";
import { Files, FileView, Reasoning, Sources, ToolCard } from "./parts.tsx";

interface MessageProps {
  readonly message: UIMessage;
  /** The question before it. */
  readonly question: UIMessage | undefined;
  readonly isLast: boolean;
  readonly isBusy: boolean;
  readonly answers: readonly ChatAnswer[];
  readonly notes: Notes;
  readonly onEdit: (text: string, files: FileUIPart[]) => void;
  readonly onRegenerate: () => void;
  readonly onRate: (runId: string, thumb: Thumb) => void;
}

export function MessageView(props: MessageProps) {
  return props.message.role === "user" ? <Question {...props} /> : <Answer {...props} />;
}

export function textOf({ parts }: UIMessage): string {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

function Question({ message, isBusy, onEdit }: MessageProps) {
  const [draft, setDraft] = useState<string | null>(null);
  const text = textOf(message);
  const save = (): void => {
    if (draft === null || draft.trim() === "") return;
    const files = message.parts.filter((part) => part.type === "file");
    onEdit(draft.trim(), files);
    setDraft(null);
  };
  if (draft !== null)
    return (
      <li className="message user editing">
        <textarea
          aria-label="Edit your message"
          autoFocus
          rows={2}
          value={draft}
          onChange={(event) => setDraft(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Escape") setDraft(null);
            onEnter(event, save);
          }}
        />
        <div className="actions">
          <button type="button" className="btn" onClick={() => setDraft(null)}>
            Cancel
          </button>
          <button type="button" className="btn primary" onClick={save} disabled={draft.trim() === ""}>
            Ask again
          </button>
        </div>
      </li>
    );
  return (
    <li className="message user">
      <span className="hidden">You: </span>
      <Files parts={message.parts} />
      {text !== "" && <p className="bubble">{text}</p>}
      <div className="actions">
        <button type="button" className="link" disabled={isBusy} onClick={() => setDraft(text)}>
          Edit
        </button>
      </div>
    </li>
  );
}

function Answer(props: MessageProps) {
  const { message, question, isLast, isBusy, answers, notes } = props;
  const [picked, setPicked] = useState<string | null>(null);
  const isWriting = isLast && isBusy;
  const all = versionsOf(answers, question);
  const current = answers.find((answer) => answer.message.id === message.id);
  const shown = (isWriting ? undefined : all.find((answer) => answer.runId === picked)) ?? current;
  const versions = {
    all,
    shown: shown === undefined ? -1 : all.indexOf(shown),
    show: (index: number) => setPicked(all[index]?.runId ?? null),
  };
  const seen = shown === current ? message : (shown?.message as unknown as UIMessage);
  return (
    <li className="message assistant" aria-busy={isWriting}>
      <span className="hidden">Answer: </span>
      {seen.parts.map((part, index) => (
        <PartView
          key={index}
          part={part}
          isLive={isWriting}
          isWritten={isWriting && index === seen.parts.length - 1}
        />
      ))}
      <Sources parts={seen.parts} />
      {!isWriting && (
        <AnswerFoot
          answer={shown}
          note={shown === undefined ? undefined : notes[shown.runId]}
          versions={versions}
          onRate={(thumb) => shown !== undefined && props.onRate(shown.runId, thumb)}
          onAgain={isLast && !isBusy ? props.onRegenerate : undefined}
        />
      )}
    </li>
  );
}

/** Answers to the same words: an edited question is another one. */
function versionsOf(answers: readonly ChatAnswer[], question: UIMessage | undefined): readonly ChatAnswer[] {
  if (question === undefined) return [];
  const words = textOf(question);
  return answers.filter(
    (answer) =>
      answer.question?.id === question.id && textOf(answer.question as unknown as UIMessage) === words,
  );
}

interface PartProps {
  readonly part: UIMessage["parts"][number];
  /** The answer is being written. */
  readonly isLive: boolean;
  /** This part is. */
  readonly isWritten: boolean;
}

function PartView({ part, isLive, isWritten }: PartProps) {
  if (part.type === "text")
    return (
      <div className={isWritten ? "text writing" : "text"}>
        <Markdown text={part.text} />
      </div>
    );
  if (part.type === "reasoning") return <Reasoning text={part.text} isOpen={isWritten} />;
  if (part.type === "steering-message")
    return (
      <p className="bubble steered">{part.parts.map((one) => ("text" in one ? one.text : "")).join("")}</p>
    );
  if (part.type === "file") return <FileView file={part} />;
  if (part.type === "tool-sendEmail") return <MailCard part={part} isLive={isLive} />;
  if (part.type === "dynamic-tool" || part.type.startsWith("tool-"))
    return <ToolCard part={part as Parameters<typeof ToolCard>[0]["part"]} isLive={isLive} />;
  return null;
}
