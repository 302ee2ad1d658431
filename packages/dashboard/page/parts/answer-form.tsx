/** A form made from the JSON Schema of a wait; without one, the answer is typed as JSON. */

import { type Signal, signal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Wait } from "../../src/api.ts";
import { postAnswer, postFork } from "../lib/api.ts";
import { decisionOf, type Field, fieldOf, initialOf, readForm, readJson } from "../lib/form.ts";
import { useKeys } from "../lib/hooks.ts";
import { go, runPath } from "../lib/router.ts";
import { copy, messageOf, say } from "../lib/state.ts";
import { FieldView, type FormState, idOf, wordsOf } from "./answer-fields.tsx";

export interface AnswerFormProps {
  readonly runId: string;
  readonly wait: Wait;
  readonly canFork: boolean;
  readonly onDone: () => void;
  /** Keys for yes and no, where the form is what the screen is about. */
  readonly hasKeys?: boolean;
  /** Somebody else was first: what was typed is still there to be read. */
  readonly isOver?: boolean;
  /** Gives the answer to more than this wait. */
  readonly many?: { readonly count: number; readonly answer: (value: unknown) => Promise<string> };
}

interface Answering extends FormState {
  readonly field: Field | null;
  readonly asJson: Signal<boolean>;
  readonly text: Signal<string>;
  readonly busy: Signal<boolean>;
  readonly submit: (inFork: boolean) => Promise<void>;
}

/** What was typed for a question, until it is answered: another question may be looked at in between. */
interface Draft {
  readonly typed: FormState["typed"];
  readonly asJson: Signal<boolean>;
  readonly text: Signal<string>;
}

const drafts = new Map<string, Draft>();

function useDraft({ runId, wait, many }: AnswerFormProps, field: Field | null): Draft & { drop: () => void } {
  const name = JSON.stringify([runId, wait.key, wait.openedAt]);
  const draft = useMemo(
    (): Draft =>
      (many === undefined ? drafts.get(name) : undefined) ?? {
        typed: signal(initialOf(field)),
        asJson: signal(field === null),
        text: signal(""),
      },
    [name],
  );
  if (many === undefined) drafts.set(name, draft);
  return { ...draft, drop: () => void drafts.delete(name) };
}

function useAnswer(props: AnswerFormProps): Answering {
  const { runId, wait, onDone, many, isOver = false } = props;
  const field = useMemo(() => fieldOf(wait.schema), [wait.schema]);
  const { typed, asJson, text, drop } = useDraft(props, field);
  const state: FormState = { typed, problems: useSignal({}) };
  const busy = useSignal(false);
  const read = (): { value: unknown } | null => {
    const result = asJson.value || field === null ? readJson(text.value) : readForm(field, state.typed.value);
    state.problems.value =
      "problems" in result ? result.problems : "problem" in result ? { "": result.problem } : {};
    return "value" in result ? result : null;
  };
  const submit = async (inFork: boolean): Promise<void> => {
    const answer = isOver && !inFork ? null : read();
    if (answer === null || busy.value) return;
    busy.value = true;
    try {
      if (many === undefined) {
        const reply = inFork
          ? await postFork(runId, { edit: { [wait.key]: answer.value }, label: "another answer" })
          : await postAnswer(runId, wait.key, answer.value);
        say(reply.message);
        if (inFork) go(runPath(reply.runId));
      } else say(await many.answer(answer.value));
      drop();
      onDone();
    } catch (error) {
      state.problems.value = { "": messageOf(error) };
    }
    busy.value = false;
  };
  return { ...state, field, asJson, text, busy, submit };
}

/** What was typed into the form so far stays when it is shown as JSON. */
function switchForm({ field, typed, asJson, text }: Answering): void {
  const result = field === null ? null : readForm(field, typed.value);
  if (!asJson.value && result !== null)
    text.value = JSON.stringify("value" in result ? result.value : {}, null, 2);
  asJson.value = !asJson.value;
}

/** A key chooses and moves there, so that the next key goes on from it. Nothing is sent by it. */
function useDecisionKeys({ field, typed, asJson }: Answering, isOn: boolean): string | undefined {
  const decision = isOn ? decisionOf(field) : null;
  const choose = (text: string) => (): void => {
    if (decision === null || asJson.value) return;
    typed.value = { ...typed.value, [decision.path]: text };
    document.getElementById(idOf(decision.path, text))?.focus();
  };
  const [yes, no] = decision === null ? ["", ""] : wordsOf(decision.field);
  const keysOf = (word: string, text: string): Record<string, () => void> =>
    word === "" ? {} : { [word.charAt(0)]: choose(text), [word.charAt(0).toLowerCase()]: choose(text) };
  useKeys({ ...keysOf(yes, "true"), ...keysOf(no, "false") });
  return decision?.path;
}

export function AnswerForm(props: AnswerFormProps): JSX.Element {
  const { runId, wait, canFork, many, hasKeys = false, isOver = false } = props;
  const state = useAnswer(props);
  const { field, asJson, text, busy, submit } = state;
  const decision = useDecisionKeys(state, hasKeys);
  const problem = state.problems.value[""];
  return (
    <form
      class="form"
      aria-label={`Answer ${wait.key}`}
      // What is wrong is said by the page, in its words.
      noValidate
      onKeyDown={(event) => {
        if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        void submit(false);
      }}
      onSubmit={(event) => {
        event.preventDefault();
        void submit(false);
      }}
    >
      {asJson.value || field === null ? (
        <JsonBox text={text} />
      ) : (
        <FieldView field={field} path={field.name} state={state} decision={decision} />
      )}
      {problem !== undefined && (
        <p class="fail" role="alert">
          {problem}
        </p>
      )}
      <div class="buttons">
        {!isOver && (
          <button type="submit" class="btn p" disabled={busy.value}>
            {many === undefined ? "Answer" : `Answer all ${many.count}`}
            {hasKeys && <kbd aria-hidden="true">Ctrl ↵</kbd>}
          </button>
        )}
        {canFork && many === undefined && (
          <button type="button" class="btn" disabled={busy.value} onClick={() => void submit(true)}>
            Answer in a fork
          </button>
        )}
        {field !== null && (
          <button type="button" class="quiet" onClick={() => switchForm(state)}>
            {asJson.value ? "as a form" : "as JSON"}
          </button>
        )}
        {many === undefined && !isOver && <CopyCommand runId={runId} />}
      </div>
    </form>
  );
}

function CopyCommand({ runId }: { runId: string }): JSX.Element {
  return (
    <button type="button" class="quiet" onClick={() => void copy(`durable resume ${runId}`, "the command")}>
      copy command
    </button>
  );
}

function JsonBox({ text }: { text: Signal<string> }): JSX.Element {
  return (
    <label>
      Answer as JSON
      <textarea
        rows={6}
        class="code"
        spellcheck={false}
        value={text.value}
        onInput={(event) => (text.value = event.currentTarget.value)}
      />
    </label>
  );
}
