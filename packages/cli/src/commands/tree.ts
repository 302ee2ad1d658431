/** `durable tree`: a run, its forks and its children, from the first run of the line. */

import type { App, RunHead } from "@durable/core";
import type { Prices } from "@durable/core/inspect";
import { viewRun, type RunView } from "@durable/core/inspect";
import type { Command } from "../command.ts";
import { exit } from "../exit.ts";
import { findRun, shortId } from "../runs.ts";
import { styled, type Terminal } from "../terminal.ts";
import { duration, money, tokens } from "../text/format.ts";
import { statusText } from "../text/status.ts";

interface Node {
  readonly view: RunView;
  readonly kind: "run" | "fork" | "child";
  readonly below: readonly Node[];
}

const mostRuns = 500;

export const tree: Command = {
  usage: "<run>",
  summary: "Shows the forks and the children of a run as a tree",
  arguments: [1, 1],
  examples: ["durable tree order-7"],
  options: {},
  run: async ({ args: [reference = ""], term, session, answer }) => {
    const { app, prices } = await session();
    const runId = await findRun(app, reference);
    const root = await nodeOf(app, await firstOf(app, runId), { prices, left: { runs: mostRuns } });
    answer({
      json: { tree: jsonOf(root) },
      text: draw(root, { chosen: runId, term }),
      next: [`durable diff ${shortId(runId)} <other run>`],
    });
    return exit.ok;
  },
};

/** The run at which the line of forks and children begins. */
async function firstOf(app: App, runId: string): Promise<string> {
  let at = runId;
  for (let i = 0; i < 1_000; i++) {
    const entries = await app
      .get(at)
      .entries()
      .catch(() => null);
    // A parent may have been deleted.
    if (entries === null) return at === runId ? runId : at;
    const { lineage, childOf } = viewRun(entries);
    const parent: string | undefined = lineage?.parent ?? childOf?.runId;
    if (parent === undefined || !(await isThere(app, parent))) return at;
    at = parent;
  }
  return at;
}

async function isThere(app: App, runId: string): Promise<boolean> {
  return app
    .get(runId)
    .entries({ limit: 0 })
    .then(
      () => true,
      () => false,
    );
}

async function nodeOf(
  app: App,
  runId: string,
  options: { prices: Prices | undefined; left: { runs: number } },
): Promise<Node> {
  options.left.runs -= 1;
  const view = viewRun(await app.get(runId).entries({ struck: true }), options);
  const below: Node[] = [];
  for await (const head of headsBelow(app, runId)) {
    if (options.left.runs <= 0) break;
    below.push(await nodeOf(app, head.runId, options));
  }
  const kind = (view.lineage?.parent ?? null) !== null ? "fork" : view.childOf === null ? "run" : "child";
  return { view, kind, below: below.toReversed() };
}

async function* headsBelow(app: App, parent: string): AsyncGenerator<RunHead, void, undefined> {
  for (let cursor: string | null = null; ;) {
    const { runs, next } = await app.list({ parent, cursor });
    yield* runs;
    if (next === null) return;
    cursor = next;
  }
}

interface Drawing {
  readonly chosen: string;
  readonly term: Terminal;
}

function draw(node: Node, drawing: Drawing, prefix = "", rail = ""): string[] {
  const { chosen, term } = drawing;
  const { view, kind, below } = node;
  const name = view.runId === chosen ? styled("bold", shortId(view.runId)) : shortId(view.runId);
  const spent = [money(view.totals.spent.cost), tokens(view.totals.spent)].filter(Boolean).join(" ");
  const took = view.endedAt === null ? "" : duration(view.endedAt - view.startedAt);
  const facts = [took, spent].filter(Boolean).join(", ");
  const about = styled("dim", kind === "run" ? view.workflow : aboutOf(node));
  const status = statusText(term, view.sleeping ? "sleeping" : view.status, name);
  return [
    prefix + [status, about, facts].filter(Boolean).join("  "),
    ...below.flatMap((child, i) => {
      const last = i === below.length - 1;
      const turn = term.glyph(last ? "└─" : "├─", last ? "\\-" : "+-");
      const mark =
        child.kind === "fork"
          ? styled("magenta", term.glyph("⑂ ", "fork "))
          : styled("dim", term.glyph("◦ ", "child "));
      return draw(
        child,
        drawing,
        `${rail}${turn}${mark}`,
        `${rail}${last ? "   " : term.glyph("│  ", "|  ")}`,
      );
    }),
  ];
}

function aboutOf({ view, kind }: Node): string {
  if (kind === "child") return `${view.childOf?.key ?? ""} (${view.workflow})`;
  const { from = [], after = [], edited = [], label = null } = view.lineage ?? {};
  return [
    ...from.map((key) => `from ${key}`),
    ...after.map((key) => `after ${key}`),
    ...edited.map((key) => `edited ${key}`),
    ...(label === null ? [] : [`"${label}"`]),
  ].join(", ");
}

function jsonOf({ view, kind, below }: Node): Readonly<Record<string, unknown>> {
  const { runId, workflow, status, startedAt, endedAt, lineage, childOf, totals } = view;
  return {
    runId,
    workflow,
    status,
    kind,
    startedAt,
    endedAt,
    lineage,
    childOf,
    spent: totals.spent,
    reused: totals.reused,
    below: below.map(jsonOf),
  };
}
