/** `durable replay`: the code on disk over a recorded run. Nothing is written, and no step runs. */

import * as inspector from "node:inspector";
import { replayRun, type Replayed } from "@durable/core/inspect";
import { chosenRuns } from "../choose.ts";
import type { Command, CommandContext } from "../command.ts";
import { CliError, exit } from "../exit.ts";
import { filterOptions } from "../options.ts";
import { shortId } from "../runs.ts";
import { styled, type Terminal } from "../terminal.ts";
import { plural } from "../text/format.ts";

export const replay: Command = {
  usage: "<run> ... | --status suspended",
  summary: "Runs the code on disk over recorded runs, to see whether it still fits; for CI",
  arguments: [0, 100],
  examples: ["durable replay order-7", "durable replay --status suspended"],
  options: {
    ...filterOptions,
    strict: { type: "boolean", help: "also exits with 4 when the code does more, less or something else" },
    inspect: { type: "boolean", help: "waits for a debugger, and stops at the workflow function" },
    port: { type: "string", value: "9229", help: "of the debugger" },
    chapter: { type: "string", value: "number", help: "an earlier chapter" },
  },
  more: [
    "Exits with 0 when every run fits, with 4 when one diverged or is unsure.",
    "Code outside of steps runs, as on every replay. Steps do not run, and nothing is written.",
  ],
  run: async (context) => {
    const { flags, term, answer, session } = context;
    const opened = await session("code");
    const { app } = opened;
    const runs = await chosenRuns(context, opened);
    if (flags.on("inspect") && runs.length !== 1) throw new CliError("--inspect takes one run.");
    const chapter = flags.text("chapter");
    const found: Replayed[] = [];
    for (const { runId } of runs) {
      const options = {
        ...(chapter === undefined ? {} : { chapter: Number(chapter) }),
        ...debuggerOf(context),
      };
      found.push(await replayRun(app, runId, options));
    }
    const diverged = found.filter(({ verdict }) => verdict === "diverged");
    const unsure = found.filter(({ verdict }) => verdict === "unsure");
    const changed = found.filter(({ verdict }) => verdict === "changed");
    const same = found.length - diverged.length - unsure.length - changed.length;
    const counts = { diverged: diverged.length, unsure: unsure.length, changed: changed.length };
    answer({
      json: { runs: found.map(jsonOf), ...counts },
      text: [
        ...found.flatMap((replayed) => lines(replayed, term)),
        ...(found.length === 1
          ? []
          : [
              "",
              `${plural(found.length, "run")}: ${same} the same, ${changed.length} changed, ${unsure.length} unsure, ${diverged.length} diverged`,
            ]),
      ],
      next: diverged.length > 0 ? ["durable explain diverged"] : [],
    });
    const refuses = diverged.length + unsure.length > 0 || (flags.on("strict") && changed.length > 0);
    return refuses ? exit.refused : exit.ok;
  },
};

/** Opens the debugger, waits until one is attached, and stops where the workflow function is called. */
function debuggerOf({ flags, term }: CommandContext): { onStart?: () => void } {
  if (!flags.on("inspect")) return {};
  const port = Number(flags.text("port") ?? 9_229);
  return {
    onStart: () => {
      if (inspector.url() === undefined) inspector.open(port, "127.0.0.1");
      term.complain(
        `Attach a debugger to ${inspector.url() ?? ""} (chrome://inspect, or "attach" in your editor).`,
      );
      inspector.waitForDebugger();
      // The next step into is the workflow function.
      // oxlint-disable-next-line no-debugger
      debugger;
    },
  };
}

function jsonOf({ error, end, ...replayed }: Replayed): Readonly<Record<string, unknown>> {
  return {
    ...replayed,
    ended: end !== null,
    error: error === null ? null : { code: error.code, message: error.message },
  };
}

function lines(
  { runId, verdict, error, delivered, unused, next, unreached, unsure, endsAsRecorded, end }: Replayed,
  term: Terminal,
): string[] {
  const [fancy, ascii, style] = (
    {
      same: ["✓", "+", "green"],
      changed: ["≠", "~", "yellow"],
      unsure: ["?", "?", "yellow"],
      diverged: ["✗", "x", "red"],
    } as const
  )[verdict];
  return [
    `${styled(style, `${term.glyph(fancy, ascii)} ${verdict}`)}  ${shortId(runId)}  ${styled("dim", `${plural(delivered, "recorded outcome")} used`)}`,
    ...(error === null ? [] : [styled("red", detail(error.message))]),
    ...(unused.length === 0 ? [] : [detail(`not used: ${unused.join(", ")}`)]),
    ...(unreached.length === 0 ? [] : [detail(`open suspend points not reached: ${unreached.join(", ")}`)]),
    ...(next.length === 0
      ? []
      : [detail(`would go on with: ${next.map(({ key, kind }) => `${key} (${kind})`).join(", ")}`)]),
    ...unsure.map(({ key, kind, old }) =>
      detail(`unsure: ${key} (${kind}) may be ${old} under another name; say so with was`),
    ),
    ...(verdict === "unsure"
      ? [detail(`unsure: if what is new comes before ${unreached.join(", ")}, give it { was: null }`)]
      : []),
    ...(endsAsRecorded
      ? []
      : [detail(end === null ? "does not end where the run ended" : "ends with another output or error")]),
  ];
}

function detail(text: string): string {
  return `    ${text}`;
}
