/** A JSON Schema as a short text: `{ approved: boolean, amount?: number }`. */

type Schema = Readonly<Record<string, unknown>>;

export function schemaText(schema: unknown, depth = 0): string {
  if (typeof schema !== "object" || schema === null) return "any";
  const { type, properties, items, enum: choices, const: only, anyOf, oneOf } = schema as Schema;
  if (only !== undefined) return JSON.stringify(only);
  if (Array.isArray(choices)) return choices.map((choice) => JSON.stringify(choice)).join(" | ");
  const parts = anyOf ?? oneOf;
  if (Array.isArray(parts)) return parts.map((part) => schemaText(part, depth)).join(" | ");
  if (typeof properties === "object" && properties !== null) return objectText(schema as Schema, depth);
  if (type === "array") return `${schemaText(items, depth + 1)}[]`;
  if (Array.isArray(type)) return type.join(" | ");
  return typeof type === "string" ? type : "any";
}

function objectText({ properties, required }: Schema, depth: number): string {
  if (depth > 2) return "{...}";
  const needed = Array.isArray(required) ? (required as unknown[]) : [];
  const fields = Object.entries(properties as Schema).map(
    ([name, inner]) => `${name}${needed.includes(name) ? "" : "?"}: ${schemaText(inner, depth + 1)}`,
  );
  return `{ ${fields.join(", ")} }`;
}
