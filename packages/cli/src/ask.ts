/** Asks a person in a terminal, on stderr. Commands check `interactive` first: without a terminal nothing is asked. */

import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { CliError, exit } from "./exit.ts";
import { schemaText } from "./text/schema.ts";
import { styled, type CliStreams, type Terminal } from "./terminal.ts";

export class Asker {
  readonly #term: Terminal;
  readonly #streams: CliStreams;

  constructor(term: Terminal, streams: CliStreams) {
    this.#term = term;
    this.#streams = streams;
  }

  async line(question: string): Promise<string> {
    this.#term.complain(question);
    // The question is written by the terminal, which knows about hostile text and colours.
    const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
    const lines = createInterface({
      input: this.#streams.stdin as unknown as NodeJS.ReadableStream,
      output: silent,
      terminal: false,
    });
    try {
      return await lines.question(
        "",
        this.#streams.signal === undefined ? {} : { signal: this.#streams.signal },
      );
    } catch (error) {
      throw new CliError("Nothing was changed.", {
        exit: exit.interrupted,
        code: String((error as { code?: unknown }).code),
      });
    } finally {
      lines.close();
    }
  }

  async confirm(question: string): Promise<boolean> {
    return /^y(es)?$/i.test((await this.line(`${question} [y/N]`)).trim());
  }

  /** One of several; the answer is a number or a text of the list. */
  async choose(question: string, choices: readonly string[]): Promise<number> {
    this.#term.complain(question, ...choices.map((choice, i) => `  ${i + 1}  ${choice}`));
    for (;;) {
      const answer = (await this.line(`1 to ${choices.length}:`)).trim();
      const at = choices.indexOf(answer);
      const picked = at >= 0 ? at : Number(answer) - 1;
      if (Number.isInteger(picked) && picked >= 0 && picked < choices.length) return picked;
    }
  }

  /** A value for a JSON Schema: field by field where it describes an object. */
  async value(schema: unknown, name: string): Promise<unknown> {
    const { properties, required, type, enum: choices } = (schema ?? {}) as Schema;
    if (typeof properties === "object" && properties !== null) {
      const fields: [string, unknown][] = [];
      for (const [field, inner] of Object.entries(properties)) {
        const needed = required?.includes(field) === true;
        const value = await this.#field(inner, `${name === "" ? "" : `${name}.`}${field}`, needed);
        if (value !== undefined) fields.push([field, value]);
      }
      return Object.fromEntries(fields);
    }
    if (Array.isArray(choices)) return choices[await this.choose(name || "answer", choices.map(String))];
    const { anyOf, oneOf } = (schema ?? {}) as Schema;
    return this.#field({ type, anyOf: anyOf ?? oneOf }, name || "answer", true);
  }

  async #field(schema: Schema, name: string, needed: boolean): Promise<unknown> {
    if (schema.properties !== undefined || Array.isArray(schema.enum)) {
      if (needed || (await this.confirm(`Set ${name}?`))) return this.value(schema, name);
      return undefined;
    }
    const wanted = wantedBy(schema);
    const about = [schema.description, wanted.short].filter(Boolean).join(", ");
    for (;;) {
      const text = (
        await this.line(`${styled("bold", name)}${needed ? "" : "?"} ${styled("dim", `(${about})`)}`)
      ).trim();
      if (text === "" && !needed) return undefined;
      const value = wanted.isDecision ? (read(text, "boolean") ?? read(text, null)) : read(text, schema.type);
      if (value !== undefined) return value;
      this.#term.complain(styled("red", `  ${name} needs ${wanted.whole}`));
    }
  }
}

interface Schema {
  readonly type?: unknown;
  readonly description?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly anyOf?: unknown;
  readonly oneOf?: unknown;
}

interface Wanted {
  /** Yes or no answers it, and so does another value, as the approval of a tool is answered. */
  readonly isDecision: boolean;
  readonly short: string;
  readonly whole: string;
}

/** What a person may type. */
function wantedBy(schema: Schema): Wanted {
  const text = schemaText(schema);
  if (schema.type === "boolean") return { isDecision: false, short: "yes or no", whole: "yes or no" };
  const parts = schema.anyOf ?? schema.oneOf;
  const isDecision = Array.isArray(parts) && (parts as Schema[]).some(({ type }) => type === "boolean");
  return isDecision
    ? { isDecision, short: "yes, no, or JSON", whole: `yes, no, or ${text}` }
    : { isDecision, short: text, whole: text };
}

/** `undefined` when the text does not fit. Whether the whole answer fits, the schema of the workflow decides. */
function read(text: string, type: unknown): unknown {
  switch (type) {
    case "string":
      return text;
    case "boolean":
      return /^(y|yes|true)$/i.test(text) ? true : /^(n|no|false)$/i.test(text) ? false : undefined;
    case "number":
    case "integer": {
      const value = Number(text);
      const fits = text !== "" && Number.isFinite(value) && (type === "number" || Number.isInteger(value));
      return fits ? value : undefined;
    }
    default:
      try {
        return JSON.parse(text) as unknown;
      } catch {
        return type === undefined ? text : undefined;
      }
  }
}
