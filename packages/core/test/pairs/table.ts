/** The page of pairs: what the model promises, state by state. */

import { options, pairs, singles, states, verbs, type Cell, type State, type Verb } from "./cells.ts";
import { codesIn } from "./judge.ts";
import { actsOf, lifeIn, movesOf, type Life } from "./model.ts";

/** The codes by which a single verb is refused; `null` where it may also do something. */
function refusalOf({
  verbs: [verb],
  state,
  option,
}: Pick<Cell, "verbs" | "state" | "option">): string | null {
  return refusalIn(verb, lifeIn({ state, option }), { state, option });
}

function refusalIn(verb: Verb, life: Life, frame: Pick<Cell, "state" | "option">): string | null {
  const [act] = actsOf(verb);
  if (act === undefined) return null;
  const codes = movesOf(act, life, frame).map(({ word }) => codesIn(word)[0]);
  return codes.every((code) => code !== undefined)
    ? [...new Set(codes)].map((code) => `\`${code}\``).join(", ")
    : null;
}

const shown = verbs.filter(
  (verb) =>
    verb !== "repeat" && states.some((state) => refusalOf({ verbs: [verb], state, option: "none" }) !== null),
);

function row(state: State): string[] {
  return [state, ...shown.map((verb) => refusalOf({ verbs: [verb], state, option: "none" }) ?? "")];
}

function deletedRow(): string[] {
  const frame = { state: "waiting", option: "none" } as const;
  const gone = { ...lifeIn(frame), gone: true };
  const refusal = (verb: Verb): string =>
    verb === "delete" ? "`not-found`" : (refusalIn(verb, gone, frame) ?? "");
  return ["deleted", ...shown.map(refusal)];
}

const table = (rows: readonly (readonly string[])[]): string =>
  rows.map((cells) => `| ${cells.join(" | ")} |`).join("\n");

export function pairsPage(): string {
  const head = ["State", ...shown];
  const ones = singles();
  const refused = ones.filter((cell) => refusalOf(cell) !== null).length;
  const two = pairs().length;
  const words: Readonly<Record<string, string>> = {
    verbs: verbs.join(", "),
    states: states.join(", "),
    options: options.join(", "),
    ones: ones.length.toLocaleString("en"),
    two: two.toLocaleString("en"),
    refused: refused.toLocaleString("en"),
    table: table([head, head.map(() => "---"), ...states.map(row), deletedRow()]),
  };
  return page.replaceAll(/\{(\w+)\}/g, (_, name: string) => words[name] ?? "");
}

const page = `# Pairs

Each feature has its tests. Faults remain where two features meet: a pause in a clean-up, a retry beside a singleton. So a
generator does every verb to a run in every state under every option, and a small model, written from the guides and apart from the
engine, says what a user is promised. This page is generated: \`npm run docs:pairs\` writes it, and a test compares it with the
model.

| | |
| --- | --- |
| verbs | {verbs} |
| states | {states} |
| options | {options} |
| one verb, in every state under every option | {ones} cells, of which {refused} are refused by name |
| two verbs at once, in both orders, in every state | {two} cells; each verb and each state meets each option |

\`repeat\` answers a wait twice, \`start\` uses the id of the run again, \`another\` starts a second run, with the same key where there is
one, and \`deploy\` puts code in place in which a recorded step has become a sleep.

A cell is played in virtual time: a run is brought into the state, the verbs are issued, from the same process or another one, and a
worker drives what is due until nothing happens any more. Then the right code is deployed, every pause ends and every wait is
answered, and every run must end. \`npm test\` plays a sample on memory and SQLite, and \`npm run test:full\` all cells on
memory, every third on SQLite (all of them with \`PAIRS=all\`) and 300 on Postgres.

## What the model says

The model is a record of about ten facts (\`packages/core/test/pairs/model.ts\`): how the run ended, whether it is paused, whether its
wait was reached or answered, whether its code fits. Each verb has one effect at one moment. So two verbs at once must look as if one
of them came first. After them the run must come to rest where the record says: it has ended, is paused or blocked, or waits for
something that has a name.

These codes and statuses are the only answers of a verb to a run in a state, without an option. An empty field means that the verb
does its work, or finds it done.

{table}

All other verbs on a handle of a deleted run reject with \`not-found\`. Options add to this: a workflow of another version refuses \`advance\` with \`other-version\`; a retry beside another run with the same
singleton key is refused with \`conflict\`; a run with a compensation that has failed is like \`compensated\`.

## What must hold in every cell

These hold whatever the verbs were (\`promises.ts\` beside the model):

- a step that was recorded is not called again, also not in a copy; a fork calls nothing that it inherits, unless it was undone;
- an answer and a message that were accepted reach the code;
- a cancelled run has run its clean-up once, any other run never; a failed or cancelled run has undone each step once;
- a deleted run is in no list, its children are gone, and it calls nothing;
- limits hold: bodies at the same time, runs begun within the time of a rate, calls of a limited service, open runs of a
  singleton;
- a run with a deadline ends by then and begins no step after it; a delayed run does not begin before its time;
- tags stay; with encryption no recorded text can be read in the storage;
- \`unpause\` and \`retry\` drive the run at once, also without a worker.

Faults that are known and not mended are listed in \`known.ts\`, with the cells that they touch.
`;
