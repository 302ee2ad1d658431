/** A form made from the JSON Schema of a wait; without one, the answer is typed as JSON. */

import { type Signal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Wait } from "../../src/api.ts";
import { postAnswer, postFork } from "../lib/api.ts";
import { type Field, fieldOf, readForm, readJson } from "../lib/form.ts";
import { go, runPath } from "../lib/router.ts";
import { copy, messageOf, say } from "../lib/state.ts";

interface FormState {
  readonly typed: Signal<Readonly<Record<string, string>>>;
  readonly problems: Signal<Readonly<Record<string, string>>>;
}

export interface AnswerFormProps {
  readonly runId: string;
  readonly wait: Wait;
  readonly canFork: boolean;
  readonly onDone: () => void;
}

interface Answering extends FormState {
  readonly field: Field | null;
  readonly asJson: Signal<boolean>;
  readonly text: Signal<string>;
  readonly busy: Signal<boolean>;
  readonly submit: (inFork: boolean) => Promise<void>;
}

function useAnswer({ runId, wait, onDone }: AnswerFormProps): Answering {
  const field = useMemo(() => fieldOf(wait.schema), [wait.schema]);
  const state: FormState = { typed: useSignal(initialOf(field)), problems: useSignal({}) };
  const [asJson, text, busy] = [useSignal(field === null), useSignal(""), useSignal(false)];
  const read = (): { value: unknown } | null => {
    const result = asJson.value || field === null ? readJson(text.value) : readForm(field, state.typed.value);
    state.problems.value =
      "problems" in result ? result.problems : "problem" in result ? { "": result.problem } : {};
    return "value" in result ? result : null;
  };
  const submit = async (inFork: boolean): Promise<void> => {
    const answer = read();
    if (answer === null || busy.value) return;
    busy.value = true;
    try {
      const reply = inFork
        ? await postFork(runId, { edit: { [wait.key]: answer.value }, label: "another answer" })
        : await postAnswer(runId, wait.key, answer.value);
      say(reply.message);
      onDone();
      if (inFork) go(runPath(reply.runId));
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

export function AnswerForm(props: AnswerFormProps): JSX.Element {
  const { runId, wait, canFork } = props;
  const state = useAnswer(props);
  const { field, asJson, text, busy, submit } = state;
  const problem = state.problems.value[""];
  return (
    <form
      class="form"
      aria-label={`Answer ${wait.key}`}
      onSubmit={(event) => {
        event.preventDefault();
        void submit(false);
      }}
    >
      {asJson.value || field === null ? (
        <JsonBox text={text} />
      ) : (
        <FieldView field={field} path={field.name} state={state} />
      )}
      {problem !== undefined && (
        <p class="fail" role="alert">
          {problem}
        </p>
      )}
      <div class="buttons">
        <button type="submit" class="btn p" disabled={busy.value}>
          Answer
        </button>
        {canFork && (
          <button type="button" class="btn" disabled={busy.value} onClick={() => void submit(true)}>
            Answer in a fork
          </button>
        )}
        {field !== null && (
          <button type="button" class="quiet" onClick={() => switchForm(state)}>
            {asJson.value ? "as a form" : "as JSON"}
          </button>
        )}
        <button
          type="button"
          class="quiet"
          onClick={() => void copy(`durable resume ${runId}`, "the command")}
        >
          copy command
        </button>
      </div>
    </form>
  );
}

function initialOf(field: Field | null, path = field?.name ?? ""): Record<string, string> {
  if (field === null) return {};
  if (field.kind === "group")
    return Object.assign(
      {},
      ...field.fields.map((inner) => initialOf(inner, `${path}.${inner.name}`)),
    ) as Record<string, string>;
  const { initial, kind, choices } = field;
  if (initial === undefined) return {};
  if (kind === "choice") return { [path]: String(choices.indexOf(initial)) };
  return { [path]: typeof initial === "string" ? initial : JSON.stringify(initial) };
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

interface FieldProps {
  readonly field: Field;
  readonly path: string;
  readonly state: FormState;
}

function FieldView({ field, path, state }: FieldProps): JSX.Element {
  if (field.kind === "constant")
    return <p class="soft">{`${field.name}: ${JSON.stringify(field.initial)}`}</p>;
  if (field.kind === "group") {
    const inside = field.fields.map((inner) => (
      <FieldView key={inner.name} field={inner} path={`${path}.${inner.name}`} state={state} />
    ));
    return path === "" ? (
      <>{inside}</>
    ) : (
      <fieldset>
        <legend>{field.name}</legend>
        {inside}
      </fieldset>
    );
  }
  if (field.kind === "boolean") return <YesNo field={field} path={path} state={state} />;
  return <InputField field={field} path={path} state={state} />;
}

function InputField({ field, path, state }: FieldProps): JSX.Element {
  const problem = state.problems.value[path];
  const id = `field-${path}`;
  return (
    <div class="field">
      <label for={id}>
        {field.name || "Answer"}
        {!field.required && <small>optional</small>}
        {problem !== undefined && <small class="fail">{problem}</small>}
      </label>
      <Input field={field} path={path} state={state} />
      {hintOf(field) !== "" && (
        <small class="faint" id={`${id}-hint`}>
          {hintOf(field)}
        </small>
      )}
    </div>
  );
}

function hintOf({ hint, min, max, longest, kind }: Field): string {
  const bounds = [min === null ? "" : `at least ${min}`, max === null || max > 1e15 ? "" : `at most ${max}`];
  const shown =
    kind === "number" && (min ?? 0) > -1e15 ? bounds.filter((part) => part !== "").join(", ") : "";
  const lines = kind === "lines" ? "one per line" : "";
  const length = longest === null ? "" : `at most ${longest} characters`;
  return [hint, shown, lines, length].filter((part) => part !== "").join(", ");
}

function Input({ field, path, state }: FieldProps): JSX.Element {
  const value = state.typed.value[path] ?? "";
  const set = (text: string): void => {
    state.typed.value = { ...state.typed.value, [path]: text };
    if (path in state.problems.value) {
      const { [path]: _gone, ...rest } = state.problems.value;
      state.problems.value = rest;
    }
  };
  const shared = { id: `field-${path}`, value, "aria-invalid": path in state.problems.value };
  if (field.kind === "choice")
    return (
      <select {...shared} onChange={(event) => set(event.currentTarget.value)}>
        <option value="">choose</option>
        {field.choices.map((choice, i) => (
          <option key={i} value={String(i)}>
            {typeof choice === "string" ? choice : JSON.stringify(choice)}
          </option>
        ))}
      </select>
    );
  if (field.kind === "number")
    return (
      <input
        {...shared}
        inputMode="decimal"
        autoComplete="off"
        onInput={(event) => set(event.currentTarget.value)}
      />
    );
  const isLong =
    field.kind !== "text" ||
    (field.longest ?? 0) > 120 ||
    /comment|note|remark|text|reason|letter/i.test(field.name);
  return isLong ? (
    <textarea
      {...shared}
      rows={field.kind === "json" ? 4 : 2}
      class={field.kind === "json" ? "code" : ""}
      onInput={(event) => set(event.currentTarget.value)}
    />
  ) : (
    <input {...shared} autoComplete="off" onInput={(event) => set(event.currentTarget.value)} />
  );
}

function YesNo({ field, path, state }: FieldProps): JSX.Element {
  const value = state.typed.value[path] ?? "";
  const problem = state.problems.value[path];
  const choice = (text: string, name: string): JSX.Element => (
    <label class={value === text ? "on" : ""}>
      <input
        type="radio"
        name={path}
        checked={value === text}
        onChange={() => (state.typed.value = { ...state.typed.value, [path]: text })}
      />
      {name}
    </label>
  );
  return (
    <fieldset class="field bare">
      <legend>
        {field.name || "Answer"}
        {!field.required && <small>optional</small>}
        {problem !== undefined && <small class="fail">{problem}</small>}
      </legend>
      <span class="seg">
        {choice("true", "Yes")}
        {choice("false", "No")}
      </span>
      {field.hint !== "" && <small class="faint">{field.hint}</small>}
    </fieldset>
  );
}
