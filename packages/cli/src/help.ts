/** Help texts, made from the commands themselves. */

import type { Command, OptionSpec } from "./command.ts";
import { commands, type CommandName } from "./commands/index.ts";
import { globalOptions } from "./options.ts";
import { styled } from "./terminal.ts";
import { padEnd } from "./text/width.ts";

const groups: readonly (readonly [string, readonly CommandName[]])[] = [
  ["Look", ["ls", "show", "tail", "tree", "diff", "limits", "workers", "ui"]],
  [
    "Steer",
    [
      "resume",
      "send",
      "wake",
      "cancel",
      "pause",
      "unpause",
      "retry",
      "score",
      "fork",
      "schedules",
      "rm",
      "purge",
    ],
  ],
  ["Check", ["doctor", "replay", "eval", "explain"]],
  ["Move", ["export", "import", "copy", "migrate"]],
  ["Set up", ["init", "mcp", "completion"]],
];

export async function overview(): Promise<string[]> {
  const lines = ["durable <command> [options]", ""];
  for (const [title, names] of groups) {
    lines.push(styled("bold", title));
    for (const name of names) {
      const { summary } = await commands[name]();
      lines.push(`  ${padEnd(name, 12)}${summary}`);
    }
    lines.push("");
  }
  return [
    ...lines,
    styled("bold", "Options of all commands"),
    ...listOf(globalOptions),
    "",
    "A run is named by its id, by the beginning or the end of it, or by @last, @failed, @waiting, @blocked.",
    "Type durable help <command> for its options and examples.",
  ];
}

export function helpOf(name: string, { usage, summary, options, examples, more = [] }: Command): string[] {
  return [
    `durable ${name} ${usage}`.trim(),
    "",
    `${summary}.`,
    ...(more.length > 0 ? ["", ...more] : []),
    ...(Object.keys(options).length > 0 ? ["", styled("bold", "Options"), ...listOf(options)] : []),
    "",
    styled("bold", "Examples"),
    ...examples.map((line) => `  ${line}`),
    "",
    styled("dim", "Also --store, --app, --json, --utc and the other options of all commands: durable help."),
  ];
}

function listOf(options: Readonly<Record<string, OptionSpec>>): string[] {
  return Object.entries(options).map(([name, { short, value, help }]) => {
    const shortForm = short === undefined ? "    " : `-${short}, `;
    return `  ${padEnd(`${shortForm}--${name}${value === undefined ? "" : ` <${value}>`}`, 26)}${help}`;
  });
}
