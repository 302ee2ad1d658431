/**
 * Error classes that come back as themselves. An error of any other class comes back as the nearest of
 * these, under its own name, or under the name of its class where it never set one.
 */

import { DurableError, FatalError, RetryError } from "../errors.ts";

/** From the particular to the general. */
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

/** The type an error is written as, and the name it is kept under. */
export function typeOfError(error: Error): { readonly type: ErrorType; readonly name: string } {
  const name = String(error.name);
  // Ours may come from another copy of this package, which only the name tells.
  if (isOurs(name)) return { type: name, name };
  const types = Object.keys(classes) as ErrorType[];
  const type = types.find((known) => error instanceof classes[known]) ?? typeOfRecord(undefined, name);
  return { type, name: name === type ? (className(error) ?? name) : name };
}

/** The type a record stands for; records leave it out where the name says it. */
export function typeOfRecord(type: unknown, name: string): ErrorType {
  const said = typeof type === "string" ? type : name;
  return Object.hasOwn(classes, said) ? (said as ErrorType) : "Error";
}

/** An error of that type. What a constructor asks for besides the message is put right from the record. */
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

/** Also true for errors of another realm, where `instanceof` says nothing. */
export function isError(value: unknown): value is Error {
  return value instanceof Error || Object.prototype.toString.call(value) === "[object Error]";
}

/** Own fields of an error that are not its class's, and not told apart from them in a record. */
export function ownKeys(keys: readonly string[]): string[] {
  return keys.filter((key) => !["name", "message", "stack", "cause", "errors"].includes(key));
}

/** The name of the class that made an object, or null. An own field called "constructor" is not asked. */
export function className(value: object): string | null {
  const maker: unknown = (Object.getPrototypeOf(value) as object | null)?.constructor;
  return typeof maker === "function" && maker.name !== "" ? maker.name : null;
}

function isOurs(name: string): name is "DurableError" | "FatalError" | "RetryError" {
  return name === "DurableError" || name === "FatalError" || name === "RetryError";
}
