/**
 * Error classes that are decoded as themselves. An error of another class is decoded as the nearest of these, with its
 * own `name`, or with the name of its class if it did not set one.
 */

import { DurableError, FatalError, RetryError } from "../errors.ts";

/** Subclasses before their base classes, because the first match counts. */
const classes = {
  DurableError,
  FatalError,
  RetryError,
  AggregateError,
  EvalError,
  RangeError,
  ReferenceError,
  SyntaxError,
  TypeError,
  URIError,
  DOMException: globalThis.DOMException ?? Error,
  Error,
};

export type ErrorType = keyof typeof classes;

/** The type and the name that are recorded for an error. */
export function typeOfError(error: Error): { readonly type: ErrorType; readonly name: string } {
  const name = String(error.name);
  // Errors of this library may come from another copy of the package, where `instanceof` fails.
  if (isOurs(name)) return { type: name, name };
  const types = Object.keys(classes) as ErrorType[];
  const type = types.find((known) => error instanceof classes[known]) ?? typeOfRecord(undefined, name);
  return { type, name: name === type ? (className(error) ?? name) : name };
}

/** The type of a recorded error. It is recorded only if it differs from the name. */
export function typeOfRecord(type: unknown, name: string): ErrorType {
  const said = typeof type === "string" ? type : name;
  return Object.hasOwn(classes, said) ? (said as ErrorType) : "Error";
}

/** An error of that type. Other arguments of its constructor get placeholders, which the decoder replaces. */
export function makeError(type: ErrorType, message: string, name: string): Error {
  switch (type) {
    case "DurableError":
      return new DurableError("corrupt", message);
    case "RetryError":
      return new RetryError(message, { after: 0 });
    case "AggregateError":
      return new AggregateError([], message);
    case "DOMException":
      return new classes.DOMException(message, name);
    default:
      return new classes[type](message);
  }
}

/** Also true for errors of another realm, where `instanceof` fails. */
export function isError(value: unknown): value is Error {
  return value instanceof Error || Object.prototype.toString.call(value) === "[object Error]";
}

/** The fields of an error that are recorded as own fields; the others have their own place in a record. */
export function ownKeys(keys: readonly string[]): string[] {
  return keys.filter((key) => !["name", "message", "stack", "cause", "errors"].includes(key));
}

/** The name of an object's class, or null. Ignores an own field called "constructor". */
export function className(value: object): string | null {
  const maker: unknown = (Object.getPrototypeOf(value) as object | null)?.constructor;
  const name: unknown = typeof maker === "function" ? maker.name : null;
  return typeof name === "string" && name !== "" ? name : null;
}

function isOurs(name: string): name is "DurableError" | "FatalError" | "RetryError" {
  return name === "DurableError" || name === "FatalError" || name === "RetryError";
}
