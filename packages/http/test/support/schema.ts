/** The part of JSON Schema that the description uses; unknown keywords are an error. */

type Schema = Readonly<Record<string, unknown>>;

const known = new Set([
  "$ref",
  "type",
  "const",
  "enum",
  "pattern",
  "oneOf",
  "items",
  "properties",
  "required",
  "additionalProperties",
  "description",
  "minimum",
  "maximum",
  "maxLength",
]);

/** What is wrong with a value, each with its path; empty when it fits. */
export function problems(value: unknown, schema: Schema, root: Schema, path = "$"): string[] {
  for (const word of Object.keys(schema)) if (!known.has(word)) throw new Error(`${word} is not checked`);
  if (typeof schema["$ref"] === "string") return problems(value, resolve(schema["$ref"], root), root, path);
  const found: string[] = [];
  const say = (what: string): void => void found.push(`${path}: ${what}`);
  const types = [schema["type"] ?? []].flat() as string[];
  if (types.length > 0 && !types.some((type) => isOf(value, type))) say(`is not ${types.join(" or ")}`);
  if ("const" in schema && value !== schema["const"]) say(`is not ${String(schema["const"])}`);
  if (Array.isArray(schema["enum"]) && !schema["enum"].includes(value)) say("is not in the list");
  if (typeof schema["pattern"] === "string" && !new RegExp(schema["pattern"]).test(String(value)))
    say("does not match");
  if (Array.isArray(schema["oneOf"])) {
    const fits = (schema["oneOf"] as Schema[]).filter(
      (one) => problems(value, one, root, path).length === 0,
    ).length;
    if (fits !== 1) say(`fits ${fits} of the shapes`);
  }
  if (Array.isArray(value) && schema["items"] !== undefined)
    for (const [i, item] of value.entries())
      found.push(...problems(item, schema["items"] as Schema, root, `${path}[${i}]`));
  if (isOf(value, "object")) found.push(...inObject(value as Schema, schema, root, path));
  return found;
}

function inObject(value: Schema, schema: Schema, root: Schema, path: string): string[] {
  const properties = (schema["properties"] ?? {}) as Record<string, Schema>;
  const missing = ((schema["required"] ?? []) as string[]).filter((name) => !Object.hasOwn(value, name));
  const found = missing.map((name) => `${path}: lacks ${name}`);
  for (const [name, member] of Object.entries(value)) {
    if (Object.hasOwn(properties, name))
      found.push(...problems(member, properties[name] as Schema, root, `${path}.${name}`));
    else if (schema["additionalProperties"] === false) found.push(`${path}: has ${name}`);
  }
  return found;
}

function isOf(value: unknown, type: string): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

/** What a pointer inside the document leads to. */
export function resolve(ref: string, root: Schema): Schema {
  return ref
    .slice(2)
    .split("/")
    .reduce((part, name) => part[name] as Schema, root);
}
