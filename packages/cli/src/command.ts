/** What a command is, and what it gets. */

import type { Session } from "./session.ts";
import type { CliStreams, Terminal } from "./terminal.ts";

/** An option of a command: `--name value`, or `--name` alone. */
export interface OptionSpec {
  readonly type: "string" | "boolean";
  readonly multiple?: boolean;
  readonly short?: string;
  /** What stands for the value in the help. */
  readonly value?: string;
  readonly help: string;
}

export type OptionSpecs = Readonly<Record<string, OptionSpec>>;

export interface Command {
  /** After the name: `<run> [--from <step>]`. */
  readonly usage: string;
  readonly summary: string;
  readonly options: OptionSpecs;
  /** Least and most positional arguments. */
  readonly arguments: readonly [number, number];
  /** Lines as one types them. */
  readonly examples: readonly string[];
  /** More lines for the help. */
  readonly more?: readonly string[];
  run(context: CommandContext): Promise<number>;
}

/** The options that were given. */
export class Flags {
  readonly #values: Readonly<Record<string, unknown>>;

  constructor(values: Readonly<Record<string, unknown>>) {
    this.#values = values;
  }

  on(name: string): boolean {
    return this.#values[name] === true;
  }

  text(name: string): string | undefined {
    const value = this.#values[name];
    return typeof value === "string" ? value : undefined;
  }

  list(name: string): readonly string[] {
    const value = this.#values[name];
    return Array.isArray(value) ? (value as string[]) : [];
  }
}

/** The two forms of an answer: one document for machines, lines for people. */
export interface Answer {
  readonly json: Readonly<Record<string, unknown>>;
  readonly text: readonly string[];
  /** What to type next. */
  readonly next?: readonly string[];
}

export interface CommandContext {
  readonly args: readonly string[];
  readonly flags: Flags;
  readonly term: Terminal;
  readonly streams: CliStreams;
  readonly json: boolean;
  readonly now: () => number;
  /** All commands by name: for completion. */
  readonly commands: () => Promise<readonly (readonly [string, Command])[]>;
  /** Opens what the command works on, which may wait for its file; closed when the command has ended. */
  readonly session: (needs?: "code" | "waits") => Promise<Session>;
  /** Writes the answer in the form that was asked for. */
  readonly answer: (answer: Answer) => void;
}
