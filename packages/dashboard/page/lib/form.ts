/** From a JSON Schema to the fields of a form, and from what was typed to a value. */

import type { Plain } from "@durable/core/inspect";

export interface Field {
  readonly name: string;
  /** What people call it: the title of its schema, or its name in words. */
  readonly title: string;
  readonly kind: "boolean" | "choice" | "number" | "text" | "lines" | "rows" | "group" | "json" | "constant";
  readonly required: boolean;
  /** What an empty field that is not required stands for. */
  readonly empty: null | undefined;
  readonly hint: string;
  readonly choices: readonly Plain[];
  readonly fields: readonly Field[];
  /** Of rows: what each of them is. */
  readonly item: Field | null;
  /** Of a text: `date`, `date-time`, `email`, `uri`; empty for any other. */
  readonly format: string;
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

/** Deeper schemas, such as those that contain themselves, are typed as JSON. */
const deepest = 8;

/** Where a schema is: the whole one, for its definitions, and how deep. */
interface Inside {
  readonly root: Schema;
  readonly depth: number;
}

/** The field for a whole answer; `null` without a schema, or with one that is not understood. */
export function fieldOf(schema: Plain | undefined): Field | null {
  return isSchema(schema) ? fieldIn(schema, "", true, { root: schema, depth: 0 }) : null;
}

function fieldIn(given: Plain | undefined, name: string, required: boolean, at: Inside): Field | null {
  if (!isSchema(given)) return null;
  const schema = defined(given, at.root);
  const present = withoutNull(schema);
  const inner = defined(withReason(present), at.root);
  const below = { root: at.root, depth: at.depth + 1 };
  const known = at.depth >= deepest ? asJson : kindOf(inner, below);
  return {
    name,
    title: textOr(inner["title"] ?? schema["title"]) || inWords(name),
    format: known.kind === "text" ? textOr(inner["format"]) : "",
    required: required && present === schema,
    empty: required && present !== schema ? null : undefined,
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

/** What a reference inside a schema stands for. */
function defined(schema: Schema, root: Schema): Schema {
  const place = textOr(schema["$ref"]);
  if (!place.startsWith("#/")) return schema;
  let found: Plain | undefined = root;
  for (const part of place.slice(2).split("/"))
    found = isSchema(found) ? found[part.replaceAll("~1", "/").replaceAll("~0", "~")] : undefined;
  return isSchema(found) ? found : schema;
}

/** `payOutOn` and `pay_out_on` are "Pay out on". */
export function inWords(name: string): string {
  const words = name
    .replaceAll(/([a-z\d])([A-Z])/g, "$1 $2")
    .replaceAll(/[_-]+/g, " ")
    .trim();
  const lower = words === words.toUpperCase() ? words : words.toLowerCase();
  return lower.charAt(0).toUpperCase() + lower.slice(1);
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

const alternativesIn = (schema: Schema): readonly Schema[] => {
  const options = schema["anyOf"] ?? schema["oneOf"];
  return Array.isArray(options) ? (options as readonly Plain[]).filter(isSchema) : [];
};

/** Of a plain yes or no and a form with more, such as the reason of an approval, the form: it asks for both. */
function withReason(schema: Schema): Schema {
  const [one, other, ...more] = alternativesIn(schema);
  if (one === undefined || other === undefined || more.length > 0) return schema;
  if (one["type"] === "boolean" && other["type"] === "object") return other;
  return other["type"] === "boolean" && one["type"] === "object" ? one : schema;
}

/** True where yes or no is a whole answer. */
export function takesYesOrNo(schema: Plain | undefined): boolean {
  return isSchema(schema) && [schema, ...alternativesIn(schema)].some(({ type }) => type === "boolean");
}

type Known = Pick<Field, "kind" | "choices" | "fields" | "item">;

const plain = { choices: [], fields: [], item: null };
const asJson: Known = { ...plain, kind: "json" };

function kindOf(schema: Schema, at: Inside): Known {
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
    case "array":
      return rowsOf(schema, at);
    case "object":
      return groupOf(schema, at);
    default:
      return asJson;
  }
}

/** Short texts are typed one per line; anything else has a row of fields each. */
function rowsOf({ items }: Schema, at: Inside): Known {
  const item = fieldIn(items, "", true, at);
  if (item === null || item.kind === "json" || item.kind === "constant") return asJson;
  return item.kind === "text" && item.format === ""
    ? { ...plain, kind: "lines" }
    : { ...plain, kind: "rows", item };
}

function groupOf(schema: Schema, at: Inside): Known {
  const { properties, required } = schema;
  const names = new Set(Array.isArray(required) ? required : []);
  const fields = isSchema(properties)
    ? Object.entries(properties).map(([name, inner]) => fieldIn(inner, name, names.has(name), at))
    : [null];
  return fields.includes(null) || fields.length === 0
    ? asJson
    : { ...plain, kind: "group", fields: fields as Field[] };
}

function textOr(value: Plain | undefined): string {
  return typeof value === "string" ? value : "";
}

function numberOr(value: Plain | undefined): number | null {
  return typeof value === "number" ? value : null;
}

/** What was typed into each field, by path: `.items[0].price`. The number of rows of `.items` is under `.items[]`. */
export type Typed = Readonly<Record<string, string>>;

export const rowPath = (path: string, index: number): string => `${path}[${index}]`;
export const rowsIn = (typed: Typed, path: string): number => Number(typed[`${path}[]`] ?? 0);

/** One more row, with what its schema begins with. */
export function withRow(typed: Typed, { item }: Field, path: string): Typed {
  const count = rowsIn(typed, path);
  return { ...typed, [`${path}[]`]: String(count + 1), ...initialOf(item, rowPath(path, count)) };
}

/** Without this row: those after it move up. */
export function withoutRow(typed: Typed, path: string, index: number): Typed {
  const rest: Record<string, string> = {};
  for (const [name, text] of Object.entries(typed)) {
    const found = name.startsWith(`${path}[`) ? /^\[(\d+)\]/.exec(name.slice(path.length)) : null;
    const row = Number(found?.[1] ?? -1);
    if (row === index) continue;
    if (row < index) rest[name] = text;
    else rest[rowPath(path, row - 1) + name.slice(rowPath(path, row).length)] = text;
  }
  return { ...rest, [`${path}[]`]: String(Math.max(0, rowsIn(typed, path) - 1)) };
}

/** What the fields begin with: constants of the schema and defaults. */
export function initialOf(field: Field | null, path = field?.name ?? "", given = field?.initial): Typed {
  if (field === null) return {};
  if (field.kind === "group") {
    const values = typeof given === "object" && given !== null && !Array.isArray(given) ? given : {};
    return Object.assign(
      {},
      ...field.fields.map((inner) =>
        initialOf(inner, `${path}.${inner.name}`, (values as Schema)[inner.name] ?? inner.initial),
      ),
    ) as Typed;
  }
  if (field.kind === "rows") {
    const rows: readonly Plain[] = Array.isArray(given) ? given : [];
    const texts = rows.map((row, i) => initialOf(field.item, rowPath(path, i), row));
    return Object.assign({ [`${path}[]`]: String(rows.length) }, ...texts) as Typed;
  }
  if (given === undefined) return {};
  if (field.kind === "choice") return { [path]: String(field.choices.indexOf(given)) };
  if (field.kind === "lines" && Array.isArray(given)) return { [path]: given.join("\n") };
  return { [path]: typeof given === "string" ? given : JSON.stringify(given) };
}

/** The field that two keys decide: a yes or no of the answer. */
export function decisionOf(
  field: Field | null,
  path = field?.name ?? "",
): { path: string; field: Field } | null {
  if (field === null) return null;
  if (field.kind === "boolean") return { path, field };
  if (field.kind !== "group" || path !== "") return null;
  const found = field.fields.find(({ kind }) => kind === "boolean");
  return found === undefined ? null : { path: `${path}.${found.name}`, field: found };
}

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
    const isEmpty = !Object.keys(typed).some(
      (name) =>
        name.startsWith(`${path}.`) && typed[name] !== "" && !(name.endsWith("[]") && typed[name] === "0"),
    );
    if (!field.required && isEmpty) return field.empty;
    const entries = field.fields.map((inner) => {
      const below = `${path}.${inner.name}`;
      return [inner.name, readField(inner, typed, { path: below, problems })] as const;
    });
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
  }
  if (field.kind === "rows") {
    const { item } = field;
    const count = rowsIn(typed, path);
    if (count === 0 && !field.required) return field.empty;
    const rows = Array.from({ length: count }, (_, i) => rowPath(path, i));
    return rows.map((row) => item && readField(item, typed, { path: row, problems }));
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
      return readFormat(field.format, text);
  }
}

/** What browsers and people write, as the schema wants it. */
function readFormat(format: string, text: string): { value: string } | { problem: string } {
  if (format === "email" && !/^[^\s@]+@[^\s@.]+(?:\.[^\s@.]+)+$/.test(text))
    return { problem: "an address, such as name@company.example" };
  if ((format === "uri" || format === "url") && !URL.canParse(text))
    return { problem: "an address that begins with https:" };
  if (format !== "date" && format !== "date-time") return { value: text };
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) return { problem: format === "date" ? "a date" : "a date and a time" };
  return { value: format === "date" ? text : time.toISOString() };
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
