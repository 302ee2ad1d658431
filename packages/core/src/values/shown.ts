/** Texts of the storage that are only shown: a damaged one must hide no other. */

/** The value of a JSON text; `null` for any other text. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** True when the value has each of these fields, of this `typeof`. */
export function hasFields(value: unknown, types: Readonly<Record<string, string>>): boolean {
  const fields = Object(value) as Readonly<Record<string, unknown>>;
  return Object.entries(types).every(([name, type]) => typeof fields[name] === type);
}

export function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}
