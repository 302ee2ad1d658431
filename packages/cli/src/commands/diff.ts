/** `durable diff`: two runs, call by call. Exits with 1 when they differ, like `diff`. */

import { diff, spendOf, type CallDiff, type Given } from "@durable/core/inspect";
import { viewRun, type RunView } from "@durable/core/inspect";
import type { Command } from "../command.ts";
import { CliError, exit } from "../exit.ts";
import { findRun, shortId } from "../runs.ts";
import { styled, type Style, type Terminal } from "../terminal.ts";
import { duration, errorLines, inline, money, plural, tokens, turnText } from "../text/format.ts";
import { fit, padEnd } from "../text/width.ts";

export const diffCommand: Command = {
  usage: "<run> [<run>]",
  summary: "Compares two runs call by call; of a fork alone, with its parent",
  arguments: [1, 2],
  examples: ["durable diff order-7-fork", "durable diff order-7 order-8 --all"],
  options: { all: { type: "boolean", help: "also what is the same" } },
  run: async ({ args, flags, term, session, answer }) => {
    const { app, prices } = await session();
    const second = await findRun(app, args.at(-1) ?? "");
    const after = await app.get(second).entries();
    const parent = viewRun(after).lineage?.parent;
    const first = args.length === 2 ? await findRun(app, args[0] ?? "") : parent;
    if (first === undefined || first === null)
      throw new CliError(
        `${second} is no fork. Name the run to compare it with: durable diff <run> ${second}`,
        {
          code: "no-fork",
        },
      );
    const before = await app.get(first).entries();
    const found = diff(before, after);
    const views = [viewRun(before, { prices }), viewRun(after, { prices })] as const;
    const changed = found.calls.filter(({ change }) => change !== "same");
    const differs = changed.some(({ equal }) => !equal) || !found.end.equal;
    const counts = countsOf(found.calls);
    const shown = flags.on("all") ? found.calls : changed;
    answer({
      json: { before: first, after: second, equal: !differs, counts, calls: found.calls, end: found.end },
      text: [
        `${styled("bold", "diff")} ${shortId(first)} ${term.glyph("→", "->")} ${shortId(second)}   ${Object.entries(
          counts,
        )
          .map(([what, amount]) => `${amount} ${what}`)
          .join(term.glyph(" · ", ", "))}`,
        ...(shown.length > 0 ? [""] : []),
        ...shown.flatMap((call) => callLines(call, views, term)),
        ...endLines(found.end, term),
        ...costLines(views),
      ],
    });
    return differs ? exit.failed : exit.ok;
  },
};

function countsOf(calls: readonly CallDiff[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { change } of calls) counts[change] = (counts[change] ?? 0) + 1;
  return counts;
}

const looks: Record<CallDiff["change"], readonly [string, string, Style]> = {
  same: ["=", "=", "dim"],
  edited: ["✎", "e", "yellow"],
  "re-run": ["≠", "~", "cyan"],
  new: ["+", "+", "green"],
  gone: ["-", "-", "red"],
};

function callLines(call: CallDiff, views: readonly [RunView, RunView], term: Terminal): string[] {
  const [fancy, ascii, style] = looks[call.change];
  const { key, was = key, change, equal, before, after } = call;
  const both = views.map(({ rows }, run) => rows.find((found) => found.key === (run === 0 ? was : key)));
  const row = both[1] ?? both[0];
  const about = row === undefined ? "" : turnText(row);
  const took = both.map((one) =>
    one === undefined || one.endedAt === null ? "" : duration(one.endedAt - one.startedAt),
  );
  const times = change === "re-run" ? `  ${took.join(term.glyph(" → ", " -> "))}` : "";
  const same = equal && change === "re-run" ? ", same outcome" : "";
  const lines = [
    ` ${styled(style, term.glyph(fancy, ascii))} ${padEnd(key, 28)} ${styled("dim", `${change}${same}${times}${about === "" ? "" : `  ${about}`}`)}`,
  ];
  if (equal || [before, after].every(isNothing)) return lines;
  const room = term.width - 8;
  const [old, now] = apart(
    before === null ? "" : givenText(before),
    after === null ? "" : givenText(after),
    room,
  );
  if (before !== null) lines.push(styled("red", `     - ${fit(old, room)}`));
  if (after !== null) lines.push(styled("green", `     + ${fit(now, room)}`));
  return lines;
}

/** How much of what both texts begin with is shown before the first difference. */
const context = 16;

/** Two texts from shortly before their first difference, where it would be cut off otherwise. */
export function apart(before: string, after: string, room: number): readonly [string, string] {
  let same = 0;
  while (same < before.length && before[same] === after[same]) same++;
  if (same < room - 2 * context) return [before, after];
  const from = same - context;
  return [`…${before.slice(from)}`, `…${after.slice(from)}`];
}

/** A sleep gives no value. */
function isNothing(given: Given | null): boolean {
  return given === null || ("value" in given && given.value === undefined);
}

function givenText(given: Given): string {
  return "error" in given ? (errorLines(given.error)[0] ?? "") : inline(given.value, 20_000);
}

function endText(given: Given | null): string {
  return given === null ? "not ended" : givenText(given);
}

function endLines(
  { equal, before, after }: { equal: boolean; before: Given | null; after: Given | null },
  term: Terminal,
): string[] {
  if (equal) return ["", styled("dim", before === null ? "Neither has ended." : "Both end in the same way.")];
  const room = term.width - 8;
  const [old, now] = apart(endText(before), endText(after), room);
  return ["", " end", styled("red", `     - ${fit(old, room)}`), styled("green", `     + ${fit(now, room)}`)];
}

function costLines([before, after]: readonly [RunView, RunView]): string[] {
  const texts = [before, after].map(({ totals }) => {
    const all = spendOf([...totals.spent.usage, ...totals.reused.usage]);
    return [money(totals.spent.cost), tokens(all)].filter(Boolean).join(", ");
  });
  if (texts.every((text) => text === "")) return [];
  const { reused, fromJournal } = after.totals;
  const saved = [money(reused.cost), tokens(reused)].filter(Boolean).join(", ");
  const reuse =
    fromJournal > 0
      ? `; ${plural(fromJournal, "step")} and ${saved || "no tokens"} came from the journal`
      : "";
  return ["", styled("dim", ` tokens  ${texts.join(" -> ")}${reuse}`)];
}
