/** What people think of a run: its scores, and the dialogs that give one or keep the run as an example for evals. */

import { exampleIn, exampleScore, searchValue, type Example } from "@durable/core/inspect";
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { RunPage } from "../../src/api.ts";
import { postExample, postScore } from "../lib/api.ts";
import { scoreText } from "../lib/eval-text.ts";
import { isFile } from "../lib/router.ts";
import { messageOf, say } from "../lib/state.ts";
import { Dialog, Link } from "./basic.tsx";

/** The scores of a run, each with a link to the runs that have it. */
export function ScoreTags({ scores }: Pick<RunPage, "scores">): JSX.Element {
  return (
    <>
      {scores.map(({ name, value, note }) => {
        const text = name === exampleScore && value > 0 ? "example" : `${name} ${scoreText(value)}`;
        const title = name === exampleScore ? (exampleIn(scores)?.label ?? undefined) : note;
        if (isFile)
          return (
            <span key={name} class="tag" title={title}>
              {text}
            </span>
          );
        const query = new URLSearchParams({ score: searchValue(name) });
        return (
          <Link
            key={name}
            to={`/?${query.toString()}`}
            class="tag"
            title={title ?? `Runs with the score ${name}`}
          >
            {text}
          </Link>
        );
      })}
    </>
  );
}

interface ScoringProps {
  readonly runId: string;
  readonly onChange?: (() => void) | undefined;
}

/** Records, says what was recorded, and closes; a refusal stays in the dialog. */
function useRecord({ onChange }: ScoringProps, onClose: () => void) {
  const problem = useSignal("");
  const record = async (work: () => Promise<{ readonly message: string }>): Promise<void> => {
    try {
      say((await work()).message);
      onClose();
      onChange?.();
    } catch (error) {
      problem.value = messageOf(error);
    }
  };
  return { problem, record };
}

export function GiveScore(props: ScoringProps): JSX.Element {
  const open = useSignal(false);
  const close = (): void => void (open.value = false);
  return (
    <>
      <button type="button" class="btn" onClick={() => (open.value = true)}>
        Score
      </button>
      {open.value && <ScoreDialog {...props} onClose={close} />}
    </>
  );
}

function ScoreDialog(props: ScoringProps & { readonly onClose: () => void }): JSX.Element {
  const { runId, onClose } = props;
  const [name, value, note] = [useSignal("helpful"), useSignal("1"), useSignal("")];
  const { problem, record } = useRecord(props, onClose);
  const give = (): void => {
    const number = value.value.trim() === "" ? null : Number(value.value);
    void record(() => postScore(runId, name.value, number, note.value));
  };
  return (
    <Dialog title="Score this run" onClose={onClose}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          give();
        }}
      >
        <label>
          Name
          <input value={name.value} onInput={(event) => (name.value = event.currentTarget.value)} />
        </label>
        <label>
          Score <small>a number, such as 0 or 1; empty removes it</small>
          <input
            inputMode="decimal"
            value={value.value}
            onInput={(event) => (value.value = event.currentTarget.value)}
          />
        </label>
        <label>
          Why <small>optional</small>
          <textarea
            rows={3}
            value={note.value}
            onInput={(event) => (note.value = event.currentTarget.value)}
          />
        </label>
        {problem.value !== "" && <p class="bad">{problem.value}</p>}
        <div class="buttons">
          <button type="submit" class="btn p">
            Record the score
          </button>
        </div>
      </form>
    </Dialog>
  );
}

interface KeepProps extends ScoringProps {
  /** What is known of it, if it is kept already. */
  readonly example: Example | null;
  readonly small?: boolean;
}

export function KeepExample(props: KeepProps): JSX.Element {
  const open = useSignal(false);
  const close = (): void => void (open.value = false);
  return (
    <>
      <button
        type="button"
        class={props.small === true ? "btn s" : "btn"}
        onClick={() => (open.value = true)}
      >
        {props.example === null ? "Keep as example" : "Change example"}
      </button>
      {open.value && <ExampleDialog {...props} onClose={close} />}
    </>
  );
}

function ExampleDialog(props: KeepProps & { readonly onClose: () => void }): JSX.Element {
  const { runId, example, onClose } = props;
  const label = useSignal(example?.label ?? "");
  const expected = useSignal(textOf(example?.expected));
  const { problem, record } = useRecord(props, onClose);
  const keep = (): void => {
    const text = expected.value.trim();
    const given = { label: label.value.trim() || null, ...(text !== "" && { expected: valueOf(text) }) };
    void record(() => postExample(runId, given));
  };
  return (
    <Dialog title="Keep as example" onClose={onClose}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          keep();
        }}
      >
        <p>
          <code>durable export --dataset</code> writes examples to a folder, and evals ask them again.
        </p>
        <label>
          Label <small>what it is about</small>
          <input
            value={label.value}
            autoComplete="off"
            onInput={(event) => (label.value = event.currentTarget.value)}
          />
        </label>
        <label>
          Expected answer <small>optional; text or JSON</small>
          <textarea
            rows={4}
            value={expected.value}
            onInput={(event) => (expected.value = event.currentTarget.value)}
          />
        </label>
        {problem.value !== "" && <p class="bad">{problem.value}</p>}
        <div class="buttons">
          <button type="submit" class="btn p">
            Keep it
          </button>
          {example !== null && (
            <button
              type="button"
              class="btn"
              onClick={() => void record(() => postScore(runId, exampleScore, null, ""))}
            >
              No longer keep it
            </button>
          )}
        </div>
      </form>
    </Dialog>
  );
}

/** JSON where it is, and otherwise the text itself. */
function valueOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

const textOf = (value: unknown): string =>
  value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);
