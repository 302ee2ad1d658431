/** `durable completion`: a script for the shell, made from the commands. */

import type { Command } from "../command.ts";
import { CliError, exit } from "../exit.ts";
import { globalOptions } from "../options.ts";

export const completion: Command = {
  usage: "bash|zsh|fish",
  summary: "Prints a completion script for the shell",
  arguments: [1, 1],
  options: {},
  more: [
    'bash: eval "$(durable completion bash)"',
    'zsh:  eval "$(durable completion zsh)"',
    "fish: durable completion fish | source",
  ],
  run: async ({ args: [shell = ""], term, json, answer, commands }) => {
    const all = await commands();
    const scripts: Readonly<Record<string, () => string>> = {
      bash: () => bash(all),
      zsh: () => zsh(all),
      fish: () => fish(all),
    };
    const script = Object.hasOwn(scripts, shell) ? scripts[shell]?.() : undefined;
    if (script === undefined)
      throw new CliError(`There is no completion for "${shell}". Use bash, zsh or fish.`);
    if (json) answer({ json: { shell, script }, text: [] });
    else term.raw(script);
    return exit.ok;
  },
};

type Named = readonly (readonly [string, Command])[];

function flagsOf({ options }: Command): string[] {
  return Object.keys({ ...options, ...globalOptions }).map((name) => `--${name}`);
}

function bash(all: Named): string {
  const cases = all.map(
    ([name, command]) =>
      `    ${name}) words="${flagsOf(command).join(" ")} @last @failed @suspended @blocked" ;;`,
  );
  return [
    "_durable() {",
    '  local current="${COMP_WORDS[COMP_CWORD]}" words',
    `  if [ "$COMP_CWORD" -eq 1 ]; then words="${all.map(([name]) => name).join(" ")} help"; else`,
    '  case "${COMP_WORDS[1]}" in',
    ...cases,
    "  esac; fi",
    '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
    "}",
    "complete -o default -F _durable durable durable-cli",
    "",
  ].join("\n");
}

function zsh(all: Named): string {
  return ["autoload -U +X bashcompinit && bashcompinit", bash(all)].join("\n");
}

function fish(all: Named): string {
  return [
    "complete -c durable -f",
    ...all.map(
      ([name, { summary }]) => `complete -c durable -n __fish_use_subcommand -a ${name} -d ${quote(summary)}`,
    ),
    ...all.flatMap(([name, { options }]) =>
      Object.entries({ ...options, ...globalOptions }).map(
        ([option, { help, type }]) =>
          `complete -c durable -n '__fish_seen_subcommand_from ${name}' -l ${option}${type === "string" ? " -r" : ""} -d ${quote(help)}`,
      ),
    ),
    "",
  ].join("\n");
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "\\'")}'`;
}
