import type { UIMessage } from "ai";
import { useState } from "react";
import { onEnter } from "./composer.tsx";
import { MailCard } from "./mail-card.tsx";

interface MessageProps {
  readonly message: UIMessage;
  readonly isLast: boolean;
  readonly isBusy: boolean;
  readonly onEdit: (text: string) => void;
  readonly onRegenerate: () => void;
}

export function MessageView(props: MessageProps) {
  return props.message.role === "user" ? <Question {...props} /> : <Answer {...props} />;
}

function Question({ message, isBusy, onEdit }: MessageProps) {
  const [draft, setDraft] = useState<string | null>(null);
  const text = message.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  const save = (): void => {
    if (draft === null || draft.trim() === "") return;
    onEdit(draft.trim());
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
      <p className="bubble">{text}</p>
      <div className="actions">
        <button type="button" className="link" disabled={isBusy} onClick={() => setDraft(text)}>
          Edit
        </button>
      </div>
    </li>
  );
}

function Answer({ message, isLast, isBusy, onRegenerate }: MessageProps) {
  const isWriting = isLast && isBusy;
  return (
    <li className="message assistant" aria-busy={isWriting}>
      <span className="hidden">Answer: </span>
      {message.parts.map((part, index) => {
        if (part.type === "text")
          return (
            <p
              key={index}
              className={isWriting && index === message.parts.length - 1 ? "text writing" : "text"}
            >
              {part.text}
            </p>
          );
        return part.type === "tool-sendEmail" ? (
          <MailCard key={index} part={part} isLive={isWriting} />
        ) : null;
      })}
      {isLast && !isBusy && (
        <div className="actions">
          <button type="button" className="link" onClick={onRegenerate}>
            Answer again
          </button>
        </div>
      )}
    </li>
  );
}
