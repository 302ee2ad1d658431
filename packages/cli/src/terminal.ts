/**
 * Where a command writes: data on stdout, talk on stderr.
 *
 * terminal.1. Text of journals is hostile: control characters and changes of writing direction are made visible, so that
 *     no recorded text can move the cursor, set the title or hide a line.
 * terminal.2. Colours are marks in the text until it is written. Of a mark in hostile text only one of our own styles works.
 * terminal.3. JSON for a terminal is escaped where a terminal would act on it, and stays the same JSON.
 */

/** One output of a process. */
export interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

/** The input of a process: `process.stdin`. */
export interface Input extends AsyncIterable<unknown> {
  readonly isTTY?: boolean | undefined;
}

/** What the command line needs of its process. */
export interface CliStreams {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly stdin: Input;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** The present time; that of the system by default. */
  readonly now?: (() => number) | undefined;
  /** Aborts on Ctrl-C. */
  readonly signal?: AbortSignal | undefined;
}

export interface TerminalOptions {
  readonly color?: boolean | undefined;
  readonly ascii?: boolean | undefined;
  readonly quiet?: boolean | undefined;
  /** Times are shown in UTC; otherwise in the zone of the environment. */
  readonly utc?: boolean | undefined;
}

const open = "\uE000";
const shut = "\uE001";

const codes = {
  bold: "1",
  dim: "2",
  red: "31",
  green: "32",
  yellow: "33",
  blue: "34",
  magenta: "35",
  cyan: "36",
} as const;

export type Style = keyof typeof codes;

/** Marks a text with a style. */
export function styled(style: Style, text: string): string {
  return text === "" ? "" : `${open}${codes[style]}${shut}${text}${open}0${shut}`;
}

/** The text without its marks. */
export function unstyled(text: string): string {
  return text.replaceAll(marks, "");
}

export class Terminal {
  readonly width: number;
  readonly ascii: boolean;
  /** The time zone of times. */
  readonly zone: string;
  /** True when a person can be asked. */
  readonly interactive: boolean;
  readonly #streams: CliStreams;
  readonly #quiet: boolean;
  readonly #colors: { readonly out: boolean; readonly err: boolean };

  constructor(streams: CliStreams, { color, ascii, quiet, utc }: TerminalOptions = {}) {
    const { stdout, stderr, stdin, env } = streams;
    this.#streams = streams;
    this.#quiet = quiet === true;
    this.#colors = { out: color ?? hasColor(stdout, env), err: color ?? hasColor(stderr, env) };
    this.width = Math.min(160, Math.max(60, Number(env["COLUMNS"]) || (stdout.columns ?? 100)));
    this.zone = utc === true ? "UTC" : zoneOf(env);
    this.ascii = ascii ?? !isUtf8(env);
    this.interactive = stdin.isTTY === true && stderr.isTTY === true;
  }

  /** True when stdout is a terminal, so that a line may be redrawn. */
  get live(): boolean {
    return this.#streams.stdout.isTTY === true;
  }

  /** How wide a table may be: what is read by a program, or goes into a file, is not cut. */
  get tableWidth(): number {
    const { stdout, env } = this.#streams;
    return stdout.isTTY === true || env["COLUMNS"] !== undefined ? this.width : Infinity;
  }

  /** Writes lines of data. */
  out(...lines: readonly string[]): void {
    for (const line of lines) this.#streams.stdout.write(`${render(line, this.#colors.out)}\n`);
  }

  /** Writes text as it is, as documents for machines; to a terminal, without what it would act on. */
  raw(text: string): void {
    this.#streams.stdout.write(this.live ? text.replaceAll(hostile, visible) : text);
  }

  /** Writes talk: progress, warnings, what to type next. */
  say(...lines: readonly string[]): void {
    if (this.#quiet) return;
    for (const line of lines) this.#streams.stderr.write(`${render(line, this.#colors.err)}\n`);
  }

  /** Writes what is wrong, also with --quiet. */
  complain(...lines: readonly string[]): void {
    for (const line of lines) this.#streams.stderr.write(`${render(line, this.#colors.err)}\n`);
  }

  /** One of two texts, by what the terminal can draw. */
  glyph(fancy: string, plain: string): string {
    return this.ascii ? plain : fancy;
  }
}

function hasColor({ isTTY }: Output, env: CliStreams["env"]): boolean {
  if (env["NO_COLOR"] !== undefined && env["NO_COLOR"] !== "") return false;
  const forced = env["FORCE_COLOR"];
  if (forced !== undefined) return forced !== "0" && forced !== "false";
  return isTTY === true && env["TERM"] !== "dumb";
}

/** The zone that the environment names, if it exists; otherwise that of the system. */
function zoneOf(env: CliStreams["env"]): string {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: env["TZ"] || undefined }).resolvedOptions().timeZone;
  } catch {
    return new Intl.DateTimeFormat("en").resolvedOptions().timeZone;
  }
}

/** Windows and macOS terminals have UTF-8 without saying so. */
function isUtf8(env: CliStreams["env"]): boolean {
  const locale = env["LC_ALL"] || env["LC_CTYPE"] || env["LANG"];
  if (locale) return /utf-?8/i.test(locale);
  return process.platform === "win32" || process.platform === "darwin";
}

function render(line: string, color: boolean): string {
  const safe = line.replaceAll(hostile, visible);
  return color
    ? safe.replaceAll(marks, (mark) => (ours.has(mark) ? `\u001B[${mark.slice(1, -1)}m` : ""))
    : unstyled(safe);
}

const marks = /\uE000[^\uE001]{0,8}\uE001|[\uE000\uE001]/g;
const ours: ReadonlySet<string> = new Set(
  ["0", ...Object.values(codes)].map((code) => `${open}${code}${shut}`),
);

/** Control characters, changes of direction, and characters that nobody sees. */
const hostile =
  /[\p{Cc}\u061C\u200B\u200E\u200F\u2028\u2029\u202A-\u202E\u2066-\u2069]|[\u{E0000}-\u{E007F}]/gu;

function visible(character: string): string {
  if (character === "\n" || character === "\t") return character;
  return character
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}
