/** `durable explain`: what an error code means, without a network. */

import type { Command } from "../command.ts";
import { CliError, exit } from "../exit.ts";
import { styled } from "../terminal.ts";
import { padEnd } from "../text/width.ts";
import { errorsPage } from "../version.ts";

interface Explained {
  readonly code: string;
  readonly what: string;
  readonly wayOut: string;
  readonly retryable: boolean;
  readonly http: number;
  readonly exit: number;
}

export const explain: Command = {
  usage: "[code]",
  summary: "Explains an error code, or lists all of them",
  arguments: [0, 1],
  examples: ["durable explain", "durable explain step-failed"],
  options: {},
  run: async ({ args: [code], answer }) => {
    const page = errorsPage();
    const rows = tableOf(page);
    if (code === undefined) {
      answer({
        json: { codes: rows },
        text: rows.map((row) => `${padEnd(row.code, 22)}${row.what}`),
        next: ["durable explain <code>"],
      });
      return exit.ok;
    }
    const found = rows.find((row) => row.code === code);
    if (found === undefined) {
      const near = rows
        .map((row) => row.code)
        .filter((known) => known.includes(code) || code.includes(known.split("-")[0] ?? "-"));
      throw new CliError(
        `There is no error code "${code}".${near.length > 0 ? ` Did you mean ${near.join(", ")}?` : ""}`,
        {
          exit: exit.notFound,
          code: "not-found",
        },
      );
    }
    const text = sectionOf(page, code);
    answer({
      json: { ...found, text },
      text: [
        styled("bold", code),
        `  what      ${found.what}`,
        `  way out   ${found.wayOut}`,
        `  retry     ${found.retryable ? "may help" : "does not help"}`,
        `  exit ${found.exit}, HTTP ${found.http}`,
        "",
        text,
      ],
    });
    return exit.ok;
  },
};

/** The rows of the table of errors. */
export function tableOf(page: string): Explained[] {
  return page.split("\n").flatMap((line) => {
    const match = /^\| \[`([a-z-]+)`\]\([^)]*\) \| (.*) \| (.*) \| (yes|no) \| (\d+) \| (\d+) \|$/.exec(line);
    if (match === null) return [];
    const [, code = "", what = "", wayOut = "", retry, http, status] = match;
    return [{ code, what, wayOut, retryable: retry === "yes", http: Number(http), exit: Number(status) }];
  });
}

/** The section of a code, without links: they lead nowhere in a terminal. */
function sectionOf(page: string, code: string): string {
  const [, rest = ""] = page.split(`\n### ${code}\n`);
  const [section = ""] = rest.split(/\n#{2,3} /);
  return section
    .trim()
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/^```(\w+)? .*$/gm, "```$1");
}
