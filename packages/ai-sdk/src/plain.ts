/** What can be kept, or named by its content, of a value that somebody else's code made. */

/**
 * A copy that is plain data, dates, addresses and bytes. Fields without a value, functions and symbols are left out;
 * an object of a class is kept by its fields.
 */
export function plain(value: unknown): unknown {
  if (typeof value === "function" || typeof value === "symbol") return undefined;
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Date || value instanceof URL || value instanceof ArrayBuffer) return value;
  if (ArrayBuffer.isView(value)) return value;
  if (Array.isArray(value)) return value.map(plain);
  return plainFields(value);
}

function plainFields(value: object): Record<string, unknown> {
  const fields = Object.entries(value).map(([key, field]) => [key, plain(field)] as const);
  return Object.fromEntries(fields.filter(([, field]) => field !== undefined));
}
