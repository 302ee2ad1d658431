/**
 * Output for people: colour and a moving last line on a terminal, plain text everywhere else. Proven in
 * test/printer.test.ts.
 */

import type { Environment } from "./choose.ts";

/** The part of `process.stdout` that is used. */
export interface Screen {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

export type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

const codes: Readonly<Record<Style, readonly [number, number]>> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
};

export interface Terminal {
  /** Characters in a line; infinite outside of a terminal. */
  readonly width: number;
  paint(style: Style, text: string): string;
  line(text?: string): void;
  /** Shown under the last line until the next one is written; only on a terminal. */
  status(text: string): void;
}

export function terminal(screen: Screen, env: Environment): Terminal {
  const live = screen.isTTY === true && env["TERM"] !== "dumb";
  const colour = live && !env["NO_COLOR"];
  // A terminal of unknown width reports 0.
  const width = live ? Math.max(60, screen.columns || 80) : Number.POSITIVE_INFINITY;
  let shown = false;
  // The cursor waits at the start of the status, so that other output overwrites it.
  const clear = (): string => (shown ? "\u001B[K" : "");
  return {
    width,
    paint: (style, text) => {
      const [on, off] = codes[style];
      return colour ? `\u001B[${on}m${text}\u001B[${off}m` : text;
    },
    line: (text = "") => {
      screen.write(`${clear()}${text}\n`);
      shown = false;
    },
    status: (text) => {
      if (!live) return;
      screen.write(`${clear()}${cut(text, width - 1)}\r`);
      shown = true;
    },
  };
}

/** At most `width` characters, with dots at the end of a cut text. */
export function cut(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 3))}...`;
}

/** Wraps words into lines of at most `width` characters, each after `indent`; line breaks are kept. */
export function wrapped(text: string, width: number, indent = ""): string[] {
  return text.split("\n").flatMap((paragraph) => {
    const lines = [""];
    for (const word of paragraph.split(/\s+/)) {
      const last = lines.at(-1) as string;
      if (last !== "" && indent.length + last.length + 1 + word.length > width) lines.push(word);
      else lines[lines.length - 1] = last === "" ? word : `${last} ${word}`;
    }
    return lines.map((line) => `${indent}${line}`.trimEnd());
  });
}
