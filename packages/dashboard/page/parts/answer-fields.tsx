/** The fields of a form from a JSON Schema. */

import type { Signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { type Field, rowPath, rowsIn, type Typed, withoutRow, withRow } from "../lib/form.ts";

/** What was typed, and what is wrong with it, by path. */
export interface FormState {
  readonly typed: Signal<Typed>;
  readonly problems: Signal<Readonly<Record<string, string>>>;
}

export interface FieldProps {
  readonly field: Field;
  readonly path: string;
  readonly state: FormState;
  /** The field that keys decide. */
  readonly decision?: string | undefined;
}

export const idOf = (path: string, text = ""): string => `field-${path}${text === "" ? "" : `-${text}`}`;
const titleOf = (field: Field): string => field.title || "Answer";

export function FieldView(props: FieldProps): JSX.Element {
  const { field, path, state, decision } = props;
  switch (field.kind) {
    case "constant":
      return <p class="soft">{`${titleOf(field)}: ${JSON.stringify(field.initial)}`}</p>;
    case "group":
      return <Group {...props} />;
    case "rows":
      return <Rows {...props} />;
    case "boolean":
      return <YesNo field={field} path={path} state={state} decision={decision} />;
    default:
      return <InputField field={field} path={path} state={state} />;
  }
}

function Group({ field, path, state, decision }: FieldProps): JSX.Element {
  const inside = field.fields.map((inner) => (
    <FieldView
      key={inner.name}
      field={inner}
      path={`${path}.${inner.name}`}
      state={state}
      decision={decision}
    />
  ));
  if (path === "" || path.endsWith("]")) return <>{inside}</>;
  return <Framed field={field}>{inside}</Framed>;
}

/** Fields that belong together, under the title of the one that has them. */
function Framed({
  field,
  children,
}: {
  field: FieldProps["field"];
  children: ComponentChildren;
}): JSX.Element {
  return (
    <fieldset>
      <legend>
        {titleOf(field)}
        {!field.required && <small>optional</small>}
      </legend>
      {field.hint !== "" && <small class="faint">{field.hint}</small>}
      {children}
    </fieldset>
  );
}

/** One row of fields per item. */
function Rows({ field, path, state }: FieldProps): JSX.Element {
  const { item } = field;
  const typed = state.typed.value;
  const change = (next: Typed): void => {
    state.typed.value = next;
    state.problems.value = {};
  };
  const name = titleOf(field).toLowerCase();
  return (
    <Framed field={field}>
      {item !== null &&
        Array.from({ length: rowsIn(typed, path) }, (_, i) => (
          <div key={i} class="item" role="group" aria-label={`${titleOf(field)} ${i + 1}`}>
            <FieldView field={item} path={rowPath(path, i)} state={state} />
            <button
              type="button"
              class="icon"
              aria-label={`Remove ${i + 1} of ${name}`}
              onClick={() => change(withoutRow(state.typed.peek(), path, i))}
            >
              ✕
            </button>
          </div>
        ))}
      <button
        type="button"
        class="btn small"
        onClick={() => change(withRow(state.typed.peek(), field, path))}
      >
        {`Add to ${name}`}
      </button>
    </Framed>
  );
}

function InputField({ field, path, state }: FieldProps): JSX.Element {
  const problem = state.problems.value[path];
  const id = idOf(path);
  return (
    <div class="field">
      <label for={id}>
        {titleOf(field)}
        {!field.required && <small>optional</small>}
        {problem !== undefined && <small class="fail">{problem}</small>}
      </label>
      <Input field={field} path={path} state={state} />
      {hintOf(field) !== "" && (
        <small class="faint" id={idOf(path, "hint")}>
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
  const lines = kind === "lines" ? "one per line" : kind === "json" ? "as JSON" : "";
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
  const shared = {
    id: idOf(path),
    value,
    "aria-invalid": path in state.problems.value,
    "aria-describedby": hintOf(field) === "" ? undefined : idOf(path, "hint"),
    autoComplete: "off",
    onInput: (event: Event) => set((event.currentTarget as HTMLInputElement).value),
  };
  if (field.kind === "choice")
    return (
      <select {...shared}>
        <option value="">choose</option>
        {field.choices.map((choice, i) => (
          <option key={i} value={String(i)}>
            {typeof choice === "string" ? choice : JSON.stringify(choice)}
          </option>
        ))}
      </select>
    );
  if (field.kind === "number") return <input {...shared} inputMode="decimal" />;
  if (field.format === "date") return <input {...shared} type="date" />;
  if (field.format === "date-time") return <input {...shared} type="datetime-local" />;
  if (field.format === "email") return <input {...shared} type="email" />;
  if (field.format === "uri" || field.format === "url") return <input {...shared} type="url" />;
  const isLong =
    field.kind !== "text" ||
    (field.longest ?? 0) > 120 ||
    /comment|note|remark|text|reason|letter/i.test(field.name);
  return isLong ? (
    <textarea {...shared} rows={field.kind === "json" ? 4 : 2} class={field.kind === "json" ? "code" : ""} />
  ) : (
    <input {...shared} />
  );
}

/** What the two answers are called: an approval is more than a yes. */
export const wordsOf = ({ name }: Field): readonly [yes: string, no: string] =>
  /^approve/i.test(name) ? ["Approve", "Reject"] : ["Yes", "No"];

function YesNo({ field, path, state, decision }: FieldProps): JSX.Element {
  const value = state.typed.value[path] ?? "";
  const problem = state.problems.value[path];
  const isBig = path === decision;
  const choice = (text: string, name: string): JSX.Element => (
    <label class={`${text} ${value === text ? "on" : ""}`}>
      <input
        type="radio"
        id={idOf(path, text)}
        name={path}
        checked={value === text}
        onChange={() => {
          state.typed.value = { ...state.typed.value, [path]: text };
          const { [path]: _gone, ...rest } = state.problems.value;
          state.problems.value = rest;
        }}
      />
      {name}
      {isBig && <kbd aria-hidden="true">{name.charAt(0)}</kbd>}
    </label>
  );
  const [yes, no] = wordsOf(field);
  return (
    <fieldset class="field bare" aria-invalid={problem !== undefined}>
      <legend>
        {titleOf(field)}
        {!field.required && <small>optional</small>}
        {problem !== undefined && <small class="fail">{problem}</small>}
      </legend>
      <span class={isBig ? "decision" : "seg"}>
        {choice("true", yes)}
        {choice("false", no)}
      </span>
      {field.hint !== "" && <small class="faint">{field.hint}</small>}
    </fieldset>
  );
}
