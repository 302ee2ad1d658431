/** Checks what a model gives to a tool against the schema that it was shown. */

import type { Tool } from "./protocol.ts";

interface Property {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
}

/** What is wrong with the arguments; `null` when they fit. */
export function problemOf(
  { name, inputSchema }: Tool,
  args: Readonly<Record<string, unknown>>,
): string | null {
  const properties = inputSchema.properties as Readonly<Record<string, Property>>;
  const missing = (inputSchema.required ?? []).find((each) => args[each] === undefined);
  if (missing !== undefined) return `${name} needs "${missing}".`;
  for (const [given, value] of Object.entries(args)) {
    const property = Object.hasOwn(properties, given) ? properties[given] : undefined;
    if (property === undefined)
      return `${name} takes no "${given}". It takes ${Object.keys(properties).join(", ")}.`;
    const problem = value === undefined ? null : misfit(property, value);
    if (problem !== null)
      return `"${given}" of ${name} is ${JSON.stringify(value)?.slice(0, 100)}: ${problem}.`;
  }
  return null;
}

function misfit(
  { type, enum: choices, minimum = -Infinity, maximum = Infinity }: Property,
  value: unknown,
): string | null {
  if (choices !== undefined && !choices.includes(value)) return `use one of ${choices.join(", ")}`;
  if (type === "integer" && !Number.isSafeInteger(value)) return "use a whole number";
  if (typeof value === "number" && (value < minimum || value > maximum))
    return `use a number from ${minimum} to ${maximum === Infinity ? "any" : maximum}`;
  if (type === "string" && typeof value !== "string") return "use a text";
  if (type === "object" && (typeof value !== "object" || value === null || Array.isArray(value)))
    return "use an object";
  return null;
}
