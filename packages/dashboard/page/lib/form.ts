/** From a JSON Schema to the fields of a form, and from what was typed to a value. */

import type { Plain } from "@durable/core/inspect";

export interface Field {
  readonly name: string;
  readonly kind: "boolean" | "choice" | "number" | "text" | "lines" | "group" | "json" | "constant";
  readonly required: boolean;
  /** What an empty field that is not required stands for. */
  readonly empty: null | undefined;
  readonly hint: string;
  readonly choices: readonly Plain[];
  readonly fields: readonly Field[];
  readonly integer: boolean;
  readonly min: number | null;
  readonly max: number | null;
  readonly longest: number | null;
  readonly shortest: number | null;
  readonly initial: Plain | undefined;
}

type Schema = Readonly<Record<string, Plain>>;

const isSchema = (value: Plain | undefined): value is Schema =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The field for a whole answer; `null` without a schema, or with one that is not understood. */
export function fieldOf(schema: Plain | undefined, name = "", required = true): Field | null {
  if (!isSchema(schema)) return null;
  const inner = withoutNull(schema);
  const known = kindOf(inner);
  return {
    name,
    required: required && inner === schema,
    empty: required && inner !== schema ? null : undefined,
    ...known,
    hint: textOr(inner["description"] ?? schema["description"]),
    integer: inner["type"] === "integer",
    min: numberOr(inner["minimum"] ?? inner["exclusiveMinimum"]),
    max: numberOr(inner["maximum"] ?? inner["exclusiveMaximum"]),
    longest: numberOr(inner["maxLength"]),
    shortest: numberOr(inner["minLength"]),
    initial: inner["const"] ?? inner["default"],
  };
}

/** A type or an alternative that may also be null is an optional field. */
function withoutNull(schema: Schema): Schema {
  const { type } = schema;
  if (Array.isArray(type) && type.includes("null") && type.length === 2)
    return { ...schema, type: (type as readonly Plain[]).find((each) => each !== "null") ?? null };
  const options = schema["anyOf"] ?? schema["oneOf"];
  if (!Array.isArray(options)) return schema;
  const rest = options.filter((option: Plain) => !(isSchema(option) && option["type"] === "null"));
  return rest.length === 1 && options.length > 1 && isSchema(rest[0]) ? rest[0] : schema;
}

function kindOf(schema: Schema): Pick<Field, "kind" | "choices" | "fields"> {
  const plain = { choices: [], fields: [] };
  if ("const" in schema) return { ...plain, kind: "constant" };
  const choices = schema["enum"];
  if (Array.isArray(choices)) return { ...plain, kind: "choice", choices };
  switch (schema["type"]) {
    case "boolean":
      return { ...plain, kind: "boolean" };
    case "number":
    case "integer":
      return { ...plain, kind: "number" };
    case "string":
      return { ...plain, kind: "text" };
    case "array": {
      const { items } = schema;
      return {
        ...plain,
        kind: isSchema(items) && items["type"] === "string" && !("enum" in items) ? "lines" : "json",
      };
    }
    case "object":
      return groupOf(schema);
    default:
      return { ...plain, kind: "json" };
  }
}

function groupOf(schema: Schema): Pick<Field, "kind" | "choices" | "fields"> {
  const { properties, required } = schema;
  const names = new Set(Array.isArray(required) ? required : []);
  const fields = isSchema(properties)
    ? Object.entries(properties).map(([name, inner]) => fieldOf(inner, name, names.has(name)))
    : [null];
  return fields.includes(null) || fields.length === 0
    ? { kind: "json", choices: [], fields: [] }
    : { kind: "group", choices: [], fields: fields as Field[] };
}

function textOr(value: Plain | undefined): string {
  return typeof value === "string" ? value : "";
}

function numberOr(value: Plain | undefined): number | null {
  return typeof value === "number" ? value : null;
}

/** What was typed into each field, by path. */
export type Typed = Readonly<Record<string, string>>;

export type Read = { readonly value: unknown } | { readonly problems: Readonly<Record<string, string>> };

/** The value of what was typed, or what is wrong with it. The server decides in the end. */
export function readForm(field: Field, typed: Typed, path = field.name): Read {
  const problems: Record<string, string> = {};
  const value = readField(field, typed, { path, problems });
  return Object.keys(problems).length === 0 ? { value } : { problems };
}

interface Place {
  readonly path: string;
  readonly problems: Record<string, string>;
}

function readField(field: Field, typed: Typed, { path, problems }: Place): unknown {
  if (field.kind === "constant") return field.initial;
  if (field.kind === "group") {
    const isEmpty = !Object.keys(typed).some((name) => name.startsWith(`${path}.`) && typed[name] !== "");
    if (!field.required && isEmpty) return field.empty;
    const entries = field.fields.map((inner) => {
      const below = `${path}.${inner.name}`;
      return [inner.name, readField(inner, typed, { path: below, problems })] as const;
    });
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
  }
  const text = typed[path] ?? "";
  if (text === "") {
    if (field.required && (field.kind !== "text" || (field.shortest ?? 0) > 0) && field.kind !== "lines")
      problems[path] = "required";
    if (!field.required) return field.empty;
    return field.kind === "text" ? "" : field.kind === "lines" ? [] : undefined;
  }
  const result = readText(field, text);
  if ("problem" in result) problems[path] = result.problem;
  return "value" in result ? result.value : undefined;
}

function readText(field: Field, text: string): { value: unknown } | { problem: string } {
  switch (field.kind) {
    case "boolean":
      return { value: text === "true" };
    case "choice":
      return { value: field.choices[Number(text)] };
    case "number":
      return readNumber(field, text);
    case "lines":
      return { value: text.split("\n").filter((line) => line.trim() !== "") };
    case "json":
      return readJson(text);
    default:
      if (field.longest !== null && text.length > field.longest)
        return { problem: `at most ${field.longest} characters` };
      if (field.shortest !== null && text.length < field.shortest)
        return { problem: `at least ${field.shortest} characters` };
      return { value: text };
  }
}

function readNumber({ integer, min, max }: Field, text: string): { value: number } | { problem: string } {
  const value = Number(text);
  if (!Number.isFinite(value)) return { problem: "a number" };
  if (integer && !Number.isInteger(value)) return { problem: "a whole number" };
  if (min !== null && value < min) return { problem: `at least ${min}` };
  if (max !== null && value > max) return { problem: `at most ${max}` };
  return { value };
}

/** Text that people type as JSON. */
export function readJson(text: string): { value: unknown } | { problem: string } {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : "not JSON" };
  }
}
