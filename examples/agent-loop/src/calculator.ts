/**
 * Arithmetic for a model: numbers, + - * / ^, brackets, and a few functions. It has its own parser, because
 * `eval` would run any code that a model, or a page it has read, makes up.
 *
 *     sum = product (("+" | "-") product)*        power = "-" power | atom ("^" power)?
 *     product = power (("*" | "/") power)*        atom = number | name "(" sum ("," sum)* ")" | "(" sum ")"
 */

const functions: Readonly<Record<string, (...values: number[]) => number>> = {
  min: Math.min,
  max: Math.max,
  abs: Math.abs,
  sqrt: Math.sqrt,
  round: Math.round,
};

/** The limit of an expression, because brackets are parsed by recursion. */
const longest = 500;

/** The value of an expression; throws a `SyntaxError` that tells the model what is wrong. */
export function calculate(expression: string): number {
  if (expression.length > longest) throw new SyntaxError(`longer than ${longest} characters`);
  const reader = new Reader(expression);
  const value = sum(reader);
  if (reader.next !== "") throw reader.unexpected();
  if (!Number.isFinite(value)) throw new SyntaxError("the result is not a finite number");
  // Removes the noise of binary fractions.
  return Number(value.toPrecision(12));
}

class Reader {
  /** The next token: a number, a name, a sign, or empty at the end. */
  next = "";
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
    this.take();
  }

  take(): string {
    const taken = this.next;
    const rest = this.#text.slice(this.#at);
    const [found = ""] = /^\s*(\d+\.?\d*|\.\d+|[a-z]+|\S|$)/i.exec(rest) ?? [];
    this.#at += found.length;
    this.next = found.trim();
    return taken;
  }

  /** Takes this sign if it is next. */
  accept(sign: string): boolean {
    if (this.next !== sign) return false;
    this.take();
    return true;
  }

  unexpected(): SyntaxError {
    return new SyntaxError(this.next === "" ? "it ends too early" : `"${this.next}" is not expected there`);
  }
}

function sum(reader: Reader): number {
  let value = product(reader);
  for (;;) {
    if (reader.accept("+")) value += product(reader);
    else if (reader.accept("-")) value -= product(reader);
    else return value;
  }
}

function product(reader: Reader): number {
  let value = power(reader);
  for (;;) {
    if (reader.accept("*")) value *= power(reader);
    else if (reader.accept("/")) value /= power(reader);
    else return value;
  }
}

function power(reader: Reader): number {
  if (reader.accept("-")) return -power(reader);
  const base = atom(reader);
  return reader.accept("^") ? base ** power(reader) : base;
}

function atom(reader: Reader): number {
  if (reader.accept("(")) return closed(reader, sum(reader));
  if (/^[\d.]/.test(reader.next) && reader.next !== ".") return Number(reader.take());
  const call = Object.hasOwn(functions, reader.next) ? functions[reader.next] : undefined;
  if (call === undefined) throw reader.unexpected();
  reader.take();
  if (!reader.accept("(")) throw reader.unexpected();
  const values = [sum(reader)];
  while (reader.accept(",")) values.push(sum(reader));
  return closed(reader, call(...values));
}

function closed(reader: Reader, value: number): number {
  if (!reader.accept(")")) throw reader.unexpected();
  return value;
}
