import { useEffect, useRef, useState, type KeyboardEvent } from "react";

interface ComposerProps {
  readonly isBusy: boolean;
  readonly isLoading: boolean;
  readonly onSend: (text: string) => void;
  readonly onStop: () => void;
}

export function Composer({ isBusy, isLoading, onSend, onStop }: ComposerProps) {
  const [text, setText] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  const canSend = !isBusy && !isLoading && text.trim() !== "";
  const send = (): void => {
    if (!canSend) return;
    onSend(text.trim());
    setText("");
  };
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <textarea
        ref={field}
        aria-label="Your message"
        placeholder="Ask something"
        rows={1}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => onEnter(event, send)}
      />
      {isBusy ? (
        <button key="stop" type="button" className="btn" onClick={onStop}>
          Stop
        </button>
      ) : (
        <button key="send" type="submit" className="btn primary" disabled={!canSend}>
          Send
        </button>
      )}
    </form>
  );
}

/** Enter sends, Shift+Enter begins a line. An input method uses Enter to choose a word. */
export function onEnter(event: KeyboardEvent, then: () => void): void {
  if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
  event.preventDefault();
  then();
}
