/** What is below an answer: other answers to the question, what it cost, thumbs, and how it ended. */

import type { ChatAnswer } from "@durable/ai-sdk/chat";
import type { Note, Thumb } from "../src/notes.ts";

/** The answers to one question, and which is shown. */
export interface Versions {
  readonly all: readonly ChatAnswer[];
  readonly shown: number;
  readonly show: (index: number) => void;
}

interface FootProps {
  readonly answer: ChatAnswer | undefined;
  readonly note: Note | undefined;
  readonly versions: Versions;
  readonly onRate: (thumb: Thumb) => void;
  /** Missing where the answer cannot be given again. */
  readonly onAgain: (() => void) | undefined;
}

export function AnswerFoot({ answer, note, versions, onRate, onAgain }: FootProps) {
  return (
    <div className="actions foot">
      {answer?.state === "stopped" && <span className="st mark">Stopped</span>}
      {answer?.state === "failed" && <span className="st fail">Failed</span>}
      {versions.all.length > 1 && <Pager {...versions} />}
      {onAgain !== undefined && (
        <button type="button" className="link" onClick={onAgain}>
          Answer again
        </button>
      )}
      {answer !== undefined && <Thumbs given={note?.thumb ?? null} onRate={onRate} />}
      {note !== undefined && note.outputTokens > 0 && <Cost note={note} />}
    </div>
  );
}

function Pager({ all, shown, show }: Versions) {
  const to = (by: number, name: string, sign: string) => (
    <button
      type="button"
      className="link"
      aria-label={name}
      disabled={all[shown + by] === undefined}
      onClick={() => show(shown + by)}
    >
      {sign}
    </button>
  );
  return (
    <span className="pager">
      {to(-1, "Previous answer", "‹")}
      <span>
        {shown + 1} of {all.length}
      </span>
      {to(1, "Next answer", "›")}
    </span>
  );
}

function Thumbs({ given, onRate }: { readonly given: Thumb; readonly onRate: (thumb: Thumb) => void }) {
  const thumb = (kind: "up" | "down", name: string) => (
    <button
      type="button"
      className="link thumb"
      aria-label={name}
      aria-pressed={given === kind}
      onClick={() => onRate(given === kind ? null : kind)}
    >
      <svg viewBox="0 0 24 24" className={kind} aria-hidden="true">
        <path d="M7 10v11H3V10zm0 9.5 3 1.5h7.2c1 0 1.8-.7 2-1.6l1.7-7c.3-1.2-.7-2.4-2-2.4H14l.8-4.6c.2-1.3-.8-2.4-2.1-2.4z" />
      </svg>
    </button>
  );
  return (
    <span className="thumbs">
      {thumb("up", "Good answer")}
      {thumb("down", "Bad answer")}
    </span>
  );
}

const counted = new Intl.NumberFormat("en");

function Cost({ note: { inputTokens, outputTokens, cost } }: { readonly note: Note }) {
  const tokens = `${counted.format(inputTokens)} in, ${counted.format(outputTokens)} out`;
  const title = "Tokens of all calls of the model for this answer";
  return (
    <span className="cost" title={title}>
      {cost === null ? tokens : `${tokens} · $${cost < 0.01 ? cost.toPrecision(2) : cost.toFixed(2)}`}
    </span>
  );
}
