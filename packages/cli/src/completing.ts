/**
 * What may stand where the cursor of a shell is: commands, options, and what the storage has: ids of runs, keys of their steps,
 * values of filters, names of schedules.
 *
 * completing.1. It loads no code of the folder, makes no journal, and says nothing when it cannot read: a key was pressed, no
 *     command given.
 * completing.2. The search completes its own fields, so that shell and page offer the same.
 */

import { allRows, searchFields, suggestSearch, viewRun } from "@durable/core/inspect";
import type { Command, OptionSpec } from "./command.ts";
import { globalOptions } from "./options.ts";
import { findRun, marks } from "./runs.ts";
import type { Session } from "./session.ts";

type Named = readonly (readonly [string, Command])[];

/** Options whose value is the key of a step of the run that is named before them. */
const ofSteps = new Set(["step", "from", "after", "edit", "prompt"]);
const most = 50;

/** The words of a line up to the cursor, without their quotes; the last one is being typed. */
export function wordsOf(line: string): string[] {
  const words = [""];
  let quote = "";
  for (let i = 0; i < line.length; i++) {
    const character = line.charAt(i);
    if (quote === "" && /\s/.test(character)) {
      if (words.at(-1) !== "") words.push("");
    } else if (character === quote) quote = "";
    else if (quote === "" && /["']/.test(character)) quote = character;
    else words[words.length - 1] += character === "\\" && quote !== "'" ? line.charAt(++i) : character;
  }
  return words;
}

/** What the last of these words may be. `open` opens the storage that the words name. */
export async function candidates(
  words: readonly string[],
  all: Named,
  open: (store: string | undefined) => Promise<Session>,
): Promise<string[]> {
  const [, name = "", ...rest] = words;
  if (words.length <= 2) return startingWith(name, [...all.map(([each]) => each), "help"]);
  if (name === "help")
    return startingWith(
      rest.at(-1) ?? "",
      all.map(([each]) => each),
    );
  const [, command] = all.find(([each]) => each === name) ?? [];
  if (command === undefined) return [];
  const options = { ...command.options, ...globalOptions };
  const given = rest.slice(0, -1);
  const typed = rest.at(-1) ?? "";
  const [, option, value] = /^--([\w-]+)=(.*)$/s.exec(typed) ?? [];
  const before = optionOf(given.at(-1) ?? "", options);
  const { texts, values } = positionals(given, options);
  const asks = async (what: What): Promise<string[]> => {
    try {
      return await fromStorage(await open(values["store"]), what, texts[0]);
    } catch {
      // The storage is not there, or does not answer.
      return [];
    }
  };
  if (option !== undefined && options[option]?.type === "string")
    return (await asks({ name: option, typed: value ?? "" })).map((each) => `--${option}=${each}`);
  if (before?.spec.type === "string") return asks({ name: before.name, typed });
  if (typed.startsWith("-"))
    return startingWith(
      typed,
      Object.keys(options).map((each) => `--${each}`),
    );
  if (!command.usage.includes("<run>") && !command.usage.includes("[run]")) {
    if (name !== "schedules") return [];
    const verbs = command.usage.match(/(?<=[|[] ?)\w+/g) ?? [];
    return texts.length === 0 ? startingWith(typed, verbs) : asks({ name: "schedule", typed });
  }
  return [
    ...startingWith(typed, Object.keys(marks)),
    ...(typed.startsWith("@") ? [] : await asks({ name: "run", typed })),
  ];
}

interface What {
  readonly name: string;
  readonly typed: string;
}

async function fromStorage(
  { app }: Session,
  { name, typed }: What,
  run: string | undefined,
): Promise<string[]> {
  if (name === "run" || name === "parent" || name === "q") return runIds(typed, app);
  if (name === "schedule") {
    const { schedules } = await app.schedules.list({ limit: most });
    return startingWith(
      typed,
      schedules.map((each) => each.name),
    );
  }
  if (ofSteps.has(name) && run !== undefined) {
    const entries = await app.get(await findRun(app, run)).entries();
    return startingWith(
      typed,
      allRows(viewRun(entries)).map(({ key }) => key),
    );
  }
  const isField = (searchFields as readonly string[]).includes(name);
  if (!isField && name !== "where") return [];
  const text = isField ? `${name}:${name === "status" ? typed : `"${typed}`}` : typed;
  const { at, parts } = await suggestSearch(app, text);
  const texts = parts.map((part) => text.slice(0, at) + part);
  return isField
    ? startingWith(
        typed,
        texts.map((each) => each.slice(name.length + 1).replaceAll('"', "")),
      )
    : texts;
}

async function runIds(typed: string, app: Session["app"]): Promise<string[]> {
  const { runs } = await app.list({ limit: most });
  const ids = startingWith(
    typed,
    runs.map(({ runId }) => runId),
  );
  if (ids.length > 0 || typed === "") return ids;
  const { parts } = await suggestSearch(app, `q:"${typed}`);
  return startingWith(
    typed,
    parts.map((part) => part.replace(/^q:/, "").replaceAll('"', "")),
  );
}

function startingWith(typed: string, values: readonly string[]): string[] {
  return [...new Set(values)].filter((value) => value.startsWith(typed) && !/\p{C}/u.test(value));
}

type Options = Readonly<Record<string, OptionSpec>>;

function optionOf(
  word: string,
  options: Options,
): { readonly name: string; readonly spec: OptionSpec } | null {
  const [, long, short] = /^(?:--([\w-]+)|-(\w))$/.exec(word) ?? [];
  const found = Object.entries(options).find(
    ([name, spec]) => name === long || (short !== undefined && spec.short === short),
  );
  return found === undefined ? null : { name: found[0], spec: found[1] };
}

/** The words that are neither options nor their values, and the values. */
function positionals(
  words: readonly string[],
  options: Options,
): { readonly texts: readonly string[]; readonly values: Readonly<Record<string, string>> } {
  const [texts, values]: [string[], Record<string, string>] = [[], {}];
  for (let i = 0; i < words.length; i++) {
    const word = words[i] ?? "";
    const [, name, value] = /^--([\w-]+)=(.*)$/s.exec(word) ?? [];
    const option = optionOf(word, options);
    if (name !== undefined) values[name] = value ?? "";
    else if (option?.spec.type === "string") values[option.name] = words[++i] ?? "";
    else if (!word.startsWith("-")) texts.push(word);
  }
  return { texts, values };
}

/** The part of a word that a shell replaces: bash begins a word anew at `=` and `:`. */
export function shown(
  candidate: string,
  { word, part, shell }: { readonly word: string; readonly part: string; readonly shell: string },
): string {
  const from = shell === "bash" && word.endsWith(part) ? word.length - part.length : 0;
  return shell === "fish"
    ? candidate
    : candidate.slice(from).replaceAll(/[^\w@%+=:,./\-[\]#]/g, String.raw`\$&`);
}
