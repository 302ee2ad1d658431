/** Small checks of what was read: a field that is missing or of another sort was not written by us. */

export type Check = (field: unknown) => boolean;
export type Shape = Readonly<Record<string, Check>>;

export const isText: Check = (field) => typeof field === "string";
export const isNumber: Check = (field) => Number.isFinite(field);
export const isFlag: Check = (field) => typeof field === "boolean";
export const isValue: Check = (field) => field !== undefined;

export function orNull(check: Check): Check {
  return (field) => field === null || check(field);
}

export function optional(check: Check): Check {
  return (field) => field === undefined || check(field);
}

export function listOf(check: Check): Check {
  return (field) => Array.isArray(field) && field.every(check);
}

/** True for an object that has every field of a shape; it may have more. */
export function hasShape(shape: Shape): Check {
  const checks = Object.entries(shape);
  return (field) => {
    if (typeof field !== "object" || field === null) return false;
    for (const [key, check] of checks) if (!check((field as Record<string, unknown>)[key])) return false;
    return true;
  };
}
