/** Tools that only read. */

import { DurableError } from "@durable/core";
import { diff } from "@durable/core/inspect";
import { replayRun } from "@durable/core/inspect";
import { answerText, plain, promptOf, viewRun, type Plain, type RowView } from "@durable/core/inspect";
import { tableOf } from "../commands/explain.ts";
import { planJson } from "../commands/fork.ts";
import { headJson } from "../commands/ls.ts";
import { CliError } from "../exit.ts";
import { lookAt } from "../look.ts";
import { filterOfText, someRuns } from "../runs.ts";
import type { Session } from "../session.ts";
import { spentJson } from "../text/spent.ts";
import { partSchema } from "./bounded.ts";
import { errorsPage } from "../version.ts";
import { forkOptions, forkSchema, runOf, runSchema, schemaOf, text, textLength, type Args } from "./kit.ts";
import type { Tool } from "./protocol.ts";

const mostRows = 300;

/** The actions of tools that do not read one run. */
const asks: Readonly<Record<string, Tool["asks"]>> = {
  list_runs: "list",
  list_waits: "list",
  explain_error: "describe",
};

type Schema = Tool["inputSchema"];
type Read = (session: Session, args: Args, now: number) => Promise<Plain>;

export function readers(session: Session, now: () => number): Tool[] {
  const reader = (name: string, description: string, inputSchema: Schema, call: Read): Tool => {
    const properties = { ...inputSchema.properties, ...partSchema };
    const schema = { ...inputSchema, properties };
    const about = { name, description, inputSchema: schema, asks: asks[name] ?? "read", readOnly: true };
    return { ...about, call: (args) => call(session, args, now()) };
  };
  const one = schemaOf({ run: runSchema }, "run");
  return [
    reader(
      "list_runs",
      "Lists runs, newest first, with usage and error. Blocked and failed runs need attention.",
      listSchema,
      listRuns,
    ),
    reader(
      "show_run",
      "Shows one run: state, steps with attempts and errors, open waits, tokens and cost. Long values are cut.",
      one,
      showRun,
    ),
    reader(
      "get_step",
      "One step of a run in full: what a model said, attempts, output, error with causes; of a model call also what was asked and what is new in it, where that is recorded.",
      stepSchema,
      getStep,
    ),
    reader(
      "list_waits",
      "Lists open waits for answers, those that expire first before others: the question, and the JSON Schema of the answer. Of one run, or of all runs by pages.",
      waitsSchema,
      listWaits,
    ),
    reader(
      "diff_runs",
      "Compares two runs call by call, such as a fork and its parent.",
      diffSchema,
      diffRuns,
    ),
    reader(
      "plan_fork",
      "What a fork would reuse, run and wait for, with its cost. Changes nothing. Needs the code.",
      forkSchema,
      planFork,
    ),
    reader(
      "replay_run",
      "Runs the code on disk over a recorded run and says whether it still fits. Changes nothing. Needs the code.",
      one,
      async (given, args) => plain(await replayRun(given.app, await runOf(given, args))),
    ),
    reader(
      "explain_error",
      "Explains an error code: what happened, and the way out.",
      schemaOf({ code: { type: "string" } }, "code"),
      async (_session, { code }) => plain(tableOf(errorsPage()).find((row) => row.code === code) ?? null),
    ),
  ];
}

const listSchema = schemaOf({
  where: {
    type: "string",
    description:
      "As on the page: status:failed,queued waiting:yes workflow:loan tag:customer=42 version:7 since:1d until:2026-11-17 error:429 cost>0.5, and words",
  },
  status: {
    type: "string",
    enum: ["running", "suspended", "paused", "blocked", "completed", "failed", "cancelled"],
  },
  workflow: { type: "string" },
  limit: { type: "integer", minimum: 1, maximum: 200 },
  cursor: { type: "string", description: "next of the previous page" },
});

async function listRuns(session: Session, args: Args, now: number): Promise<Plain> {
  const where = [
    text(args, "where") ?? "",
    ...(["status", "workflow"] as const).map((name) =>
      text(args, name) ? `${name}:"${text(args, name)}"` : "",
    ),
  ].join(" ");
  const { limit = 20 } = args as { readonly limit?: number };
  const filter = filterOfText(where, { now, prices: session.prices, encrypted: session.encrypted });
  const { runs, next } = await someRuns(session.app, { filter, limit, cursor: text(args, "cursor") ?? null });
  return plain({ runs: runs.map((head) => headJson(head, session.prices)), next });
}

async function showRun(session: Session, args: Args, now: number): Promise<Plain> {
  const { app, prices } = session;
  const { view, state, sums } = await lookAt(app, await runOf(session, args), {
    prices,
    now,
    withChildren: true,
  });
  const rows = view.rows.slice(0, mostRows);
  return plain(
    {
      ...view,
      ...spentJson(view, sums),
      state,
      rows: rows.map(shortRow),
      moreRows: view.rows.length - rows.length,
      retries: view.retries.map((retry) => ({ ...retry, rows: retry.rows.slice(0, mostRows).map(shortRow) })),
    },
    { textLength },
  );
}

function shortRow({
  attempts,
  depth: _depth,
  parent: _parent,
  name: _name,
  seq: _seq,
  ...row
}: RowView): object {
  return { ...row, attempts: attempts.length };
}

const stepSchema = schemaOf(
  { run: runSchema, key: { type: "string", description: "The key, as show_run gives it" } },
  "run",
  "key",
);

async function getStep(session: Session, args: Args): Promise<Plain> {
  const entries = await session.app.get(await runOf(session, args)).entries({ struck: true });
  const { rows, retries } = viewRun(entries);
  const wanted = text(args, "key");
  const row = rows.find(({ key }) => key === wanted);
  const struck = retries.flatMap((retry) => retry.rows.filter(({ key }) => key === wanted));
  const asked = promptOf(entries, wanted ?? "");
  const prompt = asked === null ? {} : { prompt: asked };
  const words = answerText(row?.value);
  const said = words === "" ? {} : { said: words };
  if (row !== undefined && struck.length === 0) return plain({ ...said, ...row, ...prompt });
  if (struck.length > 0) return plain({ ...said, ...row, ...prompt, struck });
  const keys = rows.map(({ key }) => key).slice(0, 50);
  throw new CliError(`There is no step "${wanted ?? ""}". Keys: ${keys.join(", ")}`, {
    code: "unknown-step",
  });
}

const waitsSchema = schemaOf({
  run: runSchema,
  limit: { type: "integer", minimum: 1, maximum: 200, description: "runs on a page; 50 by default" },
  cursor: { type: "string", description: "next of the previous page" },
});

async function listWaits(session: Session, args: Args, now: number): Promise<Plain> {
  const { app } = session;
  const { limit = 50, cursor } = args as { readonly limit?: number; readonly cursor?: string };
  const page =
    args["run"] === undefined
      ? await app.list({ waiting: true, limit, cursor })
      : { runs: [{ runId: await runOf(session, args) }], next: null };
  const looks = await Promise.all(
    page.runs.map(({ runId }) =>
      lookAt(app, runId, { now }).catch((error: unknown) => {
        // One journal that cannot be read hides no wait of others.
        if (args["run"] !== undefined || !DurableError.is(error)) throw error;
        return { runId, code: error.code, message: error.message };
      }),
    ),
  );
  const waits = looks.flatMap((look) =>
    "code" in look
      ? []
      : look.view.waits
          .filter(({ answered }) => !answered)
          .map((wait) => ({
            runId: look.view.runId,
            workflow: look.view.workflow,
            state: look.state,
            ...wait,
          })),
  );
  const unreadable = looks.filter((look) => "code" in look);
  return plain(
    { waits, ...(unreadable.length === 0 ? {} : { unreadable }), next: page.next },
    { textLength },
  );
}

const diffSchema = schemaOf({ before: runSchema, after: runSchema }, "before", "after");

async function diffRuns(session: Session, args: Args): Promise<Plain> {
  const { app } = session;
  const [before, after] = await Promise.all([runOf(session, args, "before"), runOf(session, args, "after")]);
  const found = diff(await app.get(before).entries(), await app.get(after).entries());
  return plain({ ...found, calls: found.calls.filter(({ change }) => change !== "same") }, { textLength });
}

async function planFork(session: Session, args: Args): Promise<Plain> {
  const { app, prices } = session;
  return plain(planJson(await app.get(await runOf(session, args)).plan({ ...forkOptions(args), prices })));
}
