/** `durable completion`: a script for the shell, which asks this command again at each key. */

import { candidates, shown, wordsOf } from "../completing.ts";
import type { Command } from "../command.ts";
import { CliError, exit } from "../exit.ts";
import { openSession, type Session } from "../session.ts";

export const completion: Command = {
  usage: "bash|zsh|fish",
  summary:
    "Prints a completion script for the shell: commands, options, ids of runs, steps, values of filters",
  arguments: [1, 1],
  options: {
    line: {
      type: "string",
      value: "text",
      help: "for the script: the line up to the cursor; prints what may follow",
    },
    word: {
      type: "string",
      value: "text",
      help: "for the script: the end of the line that the shell replaces",
    },
  },
  examples: [
    'eval "$(durable completion bash)"',
    'eval "$(durable completion zsh)"',
    "durable completion fish | source",
  ],
  more: ["It reads the journal of the folder, --store or DURABLE_URL, and runs no code of the folder."],
  run: async (context) => {
    const { args, flags, term, json, answer, commands, streams } = context;
    const [shell = ""] = args;
    const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined;
    if (script === undefined)
      throw new CliError(`There is no completion for "${shell}". Use bash, zsh or fish.`);
    const line = flags.text("line");
    if (line === undefined) {
      if (json) answer({ json: { shell, script }, text: [] });
      else term.raw(script);
      return exit.ok;
    }
    const opened: Session[] = [];
    const open = async (store: string | undefined): Promise<Session> => {
      const session = await openSession({ store, noApp: true }, false, { streams, term });
      opened.push(session);
      return session;
    };
    const words = wordsOf(line);
    const found = await candidates(words, await commands(), open);
    const typed = { word: words.at(-1) ?? "", part: flags.text("word") ?? "", shell };
    const texts = found.map((each) => shown(each, typed));
    answer({ json: { candidates: found }, text: texts });
    for (const session of opened) await session.close();
    return exit.ok;
  },
};

// Read line by line, so that no shell splits or expands what a journal has.
const bash = `_durable() {
  local line="\${COMP_LINE:0:$COMP_POINT}" word="\${COMP_WORDS[COMP_CWORD]}" each
  case "$word" in :|=) word="" ;; esac
  COMPREPLY=()
  while IFS= read -r each; do COMPREPLY+=("$each"); done \\
    < <(command "\${COMP_WORDS[0]}" completion bash --line="$line" --word="$word" 2>/dev/null)
  case "\${COMPREPLY[*]}" in *[:=]) compopt -o nospace 2>/dev/null ;; esac
}
complete -o default -F _durable durable durable-cli
`;

const zsh = `_durable() {
  local -a found
  found=("\${(@f)$(command "$words[1]" completion zsh --line="$LBUFFER" 2>/dev/null)}")
  [[ -z "$found" ]] || compadd -Q -- $found
}
compdef _durable durable durable-cli
`;

const fish = `complete -c durable -f -a '(command durable completion fish --line=(commandline -cp | string collect) 2>/dev/null)'
`;

/** The script of each shell. */
export const scripts: Readonly<Record<string, string>> = { bash, zsh, fish };
