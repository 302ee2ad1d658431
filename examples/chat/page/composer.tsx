import { useEffect, useRef, useState, type KeyboardEvent } from "react";

interface ComposerProps {
  readonly isBusy: boolean;
  readonly isLoading: boolean;
  readonly onSend: (text: string, files: readonly File[]) => void;
  /** Says something to the answer that is being written. */
  readonly onSteer: (text: string) => void;
  readonly onStop: () => void;
}

/** Of all files of a message. The server takes requests of 4 MiB, and files are sent as text. */
const mostBytes = 2_500_000;

export function Composer({ isBusy, isLoading, onSend, onSteer, onStop }: ComposerProps) {
  const [text, setText] = useState("");
  const [files, setFiles] = useState<readonly File[]>([]);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  const isLarge = files.reduce((sum, { size }) => sum + size, 0) > mostBytes;
  const hasText = text.trim() !== "";
  const canSend = isBusy ? hasText : !isLoading && !isLarge && (hasText || files.length > 0);
  const send = (): void => {
    if (!canSend) return;
    setText("");
    if (isBusy) return onSteer(text.trim());
    onSend(text.trim(), files);
    setFiles([]);
  };
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      {files.length > 0 && <Chosen files={files} isLarge={isLarge} onChange={setFiles} />}
      <div className="line">
        <Attach isDisabled={isBusy} onAdd={(added) => setFiles([...files, ...added])} />
        <textarea
          ref={field}
          aria-label="Your message"
          placeholder={isBusy ? "Add to this answer" : "Ask something"}
          rows={1}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => onEnter(event, send)}
        />
        {isBusy && (
          <button type="button" className="btn stop" onClick={onStop}>
            Stop
          </button>
        )}
        {(!isBusy || hasText) && (
          <button type="submit" className="btn primary" disabled={!canSend}>
            {isBusy ? "Add" : "Send"}
          </button>
        )}
      </div>
    </form>
  );
}

interface ChosenProps {
  readonly files: readonly File[];
  readonly isLarge: boolean;
  readonly onChange: (files: readonly File[]) => void;
}

function Chosen({ files, isLarge, onChange }: ChosenProps) {
  return (
    <ul className="chosen" aria-label="Attachments">
      {files.map((file, index) => (
        <li key={index} className="file">
          {file.name}
          <button
            type="button"
            className="link"
            aria-label={`Remove ${file.name}`}
            onClick={() => onChange(files.filter((one) => one !== file))}
          >
            ×
          </button>
        </li>
      ))}
      {isLarge && <li className="fail">Together more than 2.5 MB</li>}
    </ul>
  );
}

interface AttachProps {
  readonly isDisabled: boolean;
  readonly onAdd: (files: readonly File[]) => void;
}

function Attach({ isDisabled, onAdd }: AttachProps) {
  return (
    <label className="attach" title="Attach images or documents">
      <input
        type="file"
        aria-label="Attach files"
        accept="image/*,application/pdf,text/plain"
        multiple
        disabled={isDisabled}
        onChange={({ target }) => {
          onAdd([...(target.files ?? [])]);
          // The same file may be chosen again.
          target.value = "";
        }}
      />
      <span aria-hidden="true">+</span>
    </label>
  );
}

/** Enter sends, Shift+Enter begins a line. An input method uses Enter to choose a word. */
export function onEnter(event: KeyboardEvent, then: () => void): void {
  if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
  event.preventDefault();
  then();
}
