/** What is printed while mutants are tried. Colours, and a line that is written over, only where a person looks. */
import { stripVTControlCharacters, styleText } from "node:util";
import type { Result } from "./results.ts";

const everyMs = 30_000;

export class Progress {
  #saidAt = -Infinity;

  /** A line that the next one replaces; in a file, one line in half a minute. */
  say(text: string): void {
    const { stdout } = process;
    if (stdout.isTTY) stdout.write(`\r\x1b[K${text.slice(0, (stdout.columns ?? 80) - 1)}`);
    else if (performance.now() - this.#saidAt > everyMs) {
      this.#saidAt = performance.now();
      console.log(text);
    }
  }

  clear(): void {
    if (process.stdout.isTTY) process.stdout.write("\r\x1b[K");
  }

  /** A line that stays. */
  line(text: string): void {
    this.clear();
    console.log(painted(text));
  }
}

export function resultLine({ id, diff, noticed, by, operator, tests, cpuMs }: Result): string {
  const place = diff.split("\n", 1)[0] ?? "";
  const what = noticed ? "noticed " : styleText("red", "SURVIVED", { validateStream: false });
  const why = by ?? `${tests.length} test files ran`;
  return `${what}  ${id}  ${place}  ${operator}  (${why}, ${Math.round(cpuMs / 1000)} s)`;
}

export function survivorText({ id, area, diff, tests, reaching }: Result): string {
  const reach =
    reaching === 0 ? "no test is known to reach it; of its package" : `${reaching} test files reach it;`;
  const shown = tests.length > 8 ? [...tests.slice(0, 8), `and ${tests.length - 8} more`] : tests;
  return painted(
    [
      `${styleText("red", "survivor", { validateStream: false })} ${id} (${area})`,
      diff,
      `  ${reach} ran:`,
      ...shown.map((test) => `    ${test}`),
      "",
    ].join("\n"),
  );
}

function painted(text: string): string {
  return process.stdout.isTTY ? text : stripVTControlCharacters(text);
}
