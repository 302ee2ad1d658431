/** From arguments to an exit code: finds the command, parses its options, and reports errors in one form. */

import { parseArgs } from "node:util";
import { handOver, plain } from "@durable/core/inspect";
import { Flags, type Answer, type Command, type CommandContext, type OptionSpecs } from "./command.ts";
import { commands, type CommandName } from "./commands/index.ts";
import { CliError, exit, exitOfCode } from "./exit.ts";
import { isoTimes } from "./iso-times.ts";
import { helpOf, overview } from "./help.ts";
import { globalOptions } from "./options.ts";
import { openSession, type Session } from "./session.ts";
import { errorLines } from "./text/format.ts";
import { styled, Terminal, type CliStreams } from "./terminal.ts";
import { version } from "./version.ts";

/** Runs one command; resolves to its exit code. Never rejects. */
export async function runCli(args: readonly string[], streams: CliStreams): Promise<number> {
  const [name = "", ...rest] = args;
  const json = args.includes("--json");
  const term = new Terminal(streams, {
    quiet: args.includes("--quiet") || args.includes("-q"),
    utc: args.includes("--utc"),
    ...(args.includes("--no-color") ? { color: false } : {}),
    ...(args.includes("--ascii") ? { ascii: true } : {}),
  });
  try {
    if (name === "" || name === "help" || name === "--help" || name === "-h") return await help(rest, term);
    if (name === "--version" || name === "-v" || name === "version") {
      term.out(version());
      return exit.ok;
    }
    return await runCommand(name, rest, { streams, term, json });
  } catch (error) {
    return report(error, term, json);
  }
}

async function help([name]: readonly string[], term: Terminal): Promise<number> {
  if (name === undefined || name.startsWith("-")) term.out(...(await overview()));
  else term.out(...helpOf(name, await find(name)));
  return exit.ok;
}

async function find(name: string): Promise<Command> {
  if (Object.hasOwn(commands, name)) return commands[name as CommandName]();
  const near = Object.keys(commands).filter((known) => known.startsWith(name.slice(0, 2)));
  const hint = near.length > 0 ? ` Did you mean ${near.join(", ")}?` : "";
  throw new CliError(`There is no command "${name}".${hint} Type durable help for all of them.`);
}

interface Process {
  readonly streams: CliStreams;
  readonly term: Terminal;
  readonly json: boolean;
}

async function runCommand(
  name: string,
  rest: readonly string[],
  { streams, term, json }: Process,
): Promise<number> {
  const command = await find(name);
  const { values, positionals } = parse(rest, { ...globalOptions, ...command.options }, name);
  if (values["help"] === true) {
    term.out(...helpOf(name, command));
    return exit.ok;
  }
  const [least, most] = command.arguments;
  if (positionals.length < least || positionals.length > most)
    throw new CliError(
      `durable ${name} takes: ${command.usage || "no arguments"}. Type durable help ${name}.`,
    );
  const flags = new Flags(values);
  const opened: Session[] = [];
  const context: CommandContext = {
    args: positionals,
    flags,
    term,
    streams,
    json,
    now: streams.now ?? Date.now,
    commands: () =>
      Promise.all(Object.entries(commands).map(async ([each, open]) => [each, await open()] as const)),
    session: async (needs) => {
      const given = {
        store: flags.text("store"),
        app: flags.text("app"),
        noApp: flags.on("no-app"),
        prices: flags.text("prices"),
        waits: needs === "waits",
      };
      const session = await openSession(given, needs === "code", { streams, term });
      opened.push(session);
      // After Ctrl-C a command hands over what it drives, and ends.
      streams.signal?.addEventListener("abort", () => void handOver(session.app), { once: true });
      return session;
    },
    answer: (answer) => write(answer, term, json),
  };
  try {
    return await command.run(context);
  } finally {
    for (const session of opened) await session.close();
  }
}

function write({ json: document, text, next = [] }: Answer, term: Terminal, json: boolean): void {
  if (json) return term.raw(`${JSON.stringify(isoTimes(plain({ v: 1, ...document })), null, 2)}\n`);
  term.out(...text);
  if (next.length > 0) term.say("", ...next.map((line) => styled("dim", `  ${line}`)));
}

/** The options and arguments of a command; refuses what it does not know. */
export function parse(
  args: readonly string[],
  specs: OptionSpecs,
  name: string,
): { values: Readonly<Record<string, unknown>>; positionals: string[] } {
  const options = Object.fromEntries(
    Object.entries(specs).map(([key, { type, multiple, short }]) => [
      key,
      { type, ...(multiple === true ? { multiple } : {}), ...(short === undefined ? {} : { short }) },
    ]),
  );
  try {
    return parseArgs({ args: withNumbers(args), options, allowPositionals: true, strict: true });
  } catch (error) {
    const [text = ""] = (error instanceof Error ? error.message : String(error)).split(". To specify");
    throw new CliError(`${text}. Type durable help ${name}.`.replace("..", "."));
  }
}

/** `--turn -1` as `--turn=-1`: a negative number is a value, and no option. */
function withNumbers(args: readonly string[]): string[] {
  const joined: string[] = [];
  for (const arg of args) {
    const last = joined.at(-1);
    if (/^-\d+$/.test(arg) && last !== undefined && /^--[^=]+$/.test(last))
      joined.splice(-1, 1, `${last}=${arg}`);
    else joined.push(arg);
  }
  return joined;
}

function report(error: unknown, term: Terminal, json: boolean): number {
  const { code: given, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  const code = typeof given === "string" ? given : "error";
  const status = error instanceof CliError ? error.exit : exitOfCode(code);
  if (json) {
    const about = { code, message: typeof message === "string" ? message : String(error), exit: status };
    term.raw(`${JSON.stringify({ v: 1, error: about }, null, 2)}\n`);
    return status;
  }
  if (error instanceof CliError) {
    term.complain(styled("red", error.message));
    return status;
  }
  const [first = "", ...causes] = errorLines(error);
  term.complain(styled("red", first), ...causes.map((cause) => `  because ${cause}`));
  if (error instanceof Error && error.name === "DurableError")
    term.say(styled("dim", `  durable explain ${code}`));
  else if (error instanceof Error && error.stack !== undefined) term.complain(styled("dim", error.stack));
  return status;
}
