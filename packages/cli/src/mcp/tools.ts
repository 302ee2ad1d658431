/** The tools of `durable mcp`: what a coding agent can look at, and what it can do where it is allowed to. */

import { diff, type App, type ForkOptions, type SuspendPoint } from "@durable/core";
import { replayRun, wakeRun } from "@durable/core/tools";
import { plain, viewRun, type Plain, type RowView } from "@durable/core/view";
import { headJson } from "../commands/ls.ts";
import { tableOf } from "../commands/explain.ts";
import { forkRun, planJson } from "../commands/fork.ts";
import { CliError } from "../exit.ts";
import { lookAt } from "../look.ts";
import { findRun } from "../runs.ts";
import type { Session } from "../session.ts";
import { errorsPage } from "../version.ts";
import type { Tool } from "./protocol.ts";

/** What --allow may name. */
export const actions = ["resume", "fork", "wake", "cancel"] as const;
export type Action = (typeof actions)[number];

/** Long values are cut: `get_step` gives one in full. */
const textLength = 2_000;
const mostRows = 300;

const run = {
  type: "string",
  description: "The id of a run, the beginning or end of it, or @last, @failed, @suspended, @blocked",
};
const schemaOf = (properties: object, ...required: string[]): Tool["inputSchema"] => ({
  type: "object",
  properties,
  required,
});

export function toolsOf(session: Session, allowed: ReadonlySet<Action>, now: () => number): Tool[] {
  const { app } = session;
  const find = (args: Readonly<Record<string, unknown>>, name = "run"): Promise<string> =>
    findRun(app, String(args[name]));
  return [
    ...readers(session, find, now),
    ...writers(app, find)
      .filter(({ action }) => allowed.has(action))
      .map(({ tool }) => tool),
  ];
}

type Find = (args: Readonly<Record<string, unknown>>, name?: string) => Promise<string>;

function readers(session: Session, find: Find, now: () => number): Tool[] {
  const { app, prices } = session;
  const reader = (tool: Omit<Tool, "readOnly">): Tool => ({ ...tool, readOnly: true });
  return [
    reader({
      name: "list_runs",
      description: "Lists runs, newest first. Blocked and failed runs need attention.",
      inputSchema: schemaOf({
        status: {
          type: "string",
          enum: ["running", "suspended", "blocked", "completed", "failed", "cancelled"],
        },
        workflow: { type: "string" },
        limit: { type: "integer", minimum: 1, maximum: 200 },
        cursor: { type: "string", description: "next of the previous page" },
      }),
      call: async ({ status, workflow, limit = 20, cursor }) => {
        const query = { status, workflow, limit, cursor } as Parameters<App["list"]>[0];
        const { runs, next } = await app.list(query);
        return plain({ runs: runs.map(headJson), next });
      },
    }),
    reader({
      name: "show_run",
      description:
        "Shows one run: status, steps with attempts and errors, open waits, tokens and cost. Long values are cut.",
      inputSchema: schemaOf({ run }, "run"),
      call: async (args) => {
        const { view } = await lookAt(app, await find(args), { prices, now: now() });
        const rows = view.rows.slice(0, mostRows);
        return plain(
          { ...view, rows: rows.map(shortRow), moreRows: view.rows.length - rows.length },
          { textLength },
        );
      },
    }),
    reader({
      name: "get_step",
      description: "One step of a run in full: attempts, output, error with causes.",
      inputSchema: schemaOf(
        { run, key: { type: "string", description: "The key, as show_run gives it" } },
        "run",
        "key",
      ),
      call: async (args) => {
        const { rows } = viewRun(await app.get(await find(args)).entries());
        const row = rows.find(({ key }) => key === args["key"]);
        if (row === undefined)
          throw new CliError(
            `There is no step "${String(args["key"])}". Keys: ${rows
              .map(({ key }) => key)
              .slice(0, 50)
              .join(", ")}`,
          );
        return plain(row);
      },
    }),
    reader({
      name: "list_waits",
      description: "Lists what suspended runs wait for: the question, and the JSON Schema of the answer.",
      inputSchema: schemaOf({ run: { ...run, description: "Only this run; all suspended runs by default" } }),
      call: async (args) => {
        const ids =
          args["run"] === undefined
            ? (await app.list({ status: "suspended", limit: 50 })).runs.map(({ runId }) => runId)
            : [await find(args)];
        const waits = await Promise.all(
          ids.map(async (runId) => (await lookAt(app, runId, { now: now() })).view),
        );
        return plain(
          waits.flatMap(({ runId, workflow, waits: open }) =>
            open.map((wait) => ({ runId, workflow, ...wait })),
          ),
          { textLength },
        );
      },
    }),
    reader({
      name: "diff_runs",
      description: "Compares two runs call by call, such as a fork and its parent.",
      inputSchema: schemaOf({ before: run, after: run }, "before", "after"),
      call: async (args) => {
        const [before, after] = await Promise.all([find(args, "before"), find(args, "after")]);
        const found = diff(await app.get(before).entries(), await app.get(after).entries());
        return plain(
          { ...found, calls: found.calls.filter(({ change }) => change !== "same") },
          { textLength },
        );
      },
    }),
    reader({
      name: "plan_fork",
      description:
        "What a fork would reuse, run and wait for, with its cost. Changes nothing. Needs the code.",
      inputSchema: forkSchema,
      call: async (args) =>
        plain(planJson(await app.get(await find(args)).plan({ ...forkOptions(args), prices }))),
    }),
    reader({
      name: "replay_run",
      description:
        "Runs the code on disk over a recorded run and says whether it still fits. Changes nothing. Needs the code.",
      inputSchema: schemaOf({ run }, "run"),
      call: async (args) => plain(await replayRun(app, await find(args))),
    }),
    reader({
      name: "explain_error",
      description: "Explains an error code: what happened, and the way out.",
      inputSchema: schemaOf({ code: { type: "string" } }, "code"),
      call: async ({ code }) => plain(tableOf(errorsPage()).find((row) => row.code === code) ?? null),
    }),
  ];
}

const forkSchema = schemaOf(
  {
    run,
    from: { type: "string", description: "Runs this step again, and what depends on it" },
    after: { type: "string", description: "Keeps this step; what depends on it runs again" },
    edit: { type: "object", description: "Other outputs, by key" },
    input: { description: "Another input" },
    label: { type: "string" },
  },
  "run",
);

function forkOptions({ from, after, edit, input, label }: Readonly<Record<string, unknown>>): ForkOptions {
  const given = { from, after, edit, input, label };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as ForkOptions;
}

function writers(app: App, find: Find): { readonly action: Action; readonly tool: Tool }[] {
  const writer = (action: Action, tool: Omit<Tool, "readOnly">): { action: Action; tool: Tool } => ({
    action,
    tool: { ...tool, readOnly: false },
  });
  return [
    writer("resume", {
      name: "resume_run",
      description: "Answers a suspend point. The answer must fit the schema that list_waits gives.",
      inputSchema: schemaOf(
        {
          run,
          key: { type: "string", description: "Which wait, where several are open" },
          value: { description: "The answer" },
        },
        "run",
        "value",
      ),
      call: async (args) => answer(app, await find(args), args),
    }),
    writer("fork", {
      name: "fork_run",
      description:
        "Makes a new run that keeps recorded work of another, and drives it to its next stop. Call plan_fork first.",
      inputSchema: forkSchema,
      call: async (args) => plain(await forkRun(app, await find(args), forkOptions(args))),
    }),
    writer("wake", {
      name: "wake_run",
      description: "Ends the sleeps of a run now.",
      inputSchema: schemaOf({ run }, "run"),
      call: async (args) => plain({ woken: await wakeRun(app, await find(args)) }),
    }),
    writer("cancel", {
      name: "cancel_run",
      description: "Ends a run and its children. The journal stays.",
      inputSchema: schemaOf({ run, reason: { type: "string" } }, "run"),
      call: async (args) => {
        const { status } = await app.cancel(
          await find(args),
          args["reason"] === undefined ? undefined : String(args["reason"]),
        );
        return plain({ status });
      },
    }),
  ];
}

async function answer(
  app: App,
  runId: string,
  { key, value }: Readonly<Record<string, unknown>>,
): Promise<Plain> {
  const outcome = await app.get(runId).outcome();
  const open: readonly SuspendPoint[] = "waiting" in outcome ? outcome.waiting : [];
  const fits = key === undefined ? open : open.filter((point) => point.key === key);
  const [point] = fits;
  if (point === undefined || fits.length > 1)
    throw new CliError(
      `Run ${runId} is ${outcome.status}. Its open waits: ${open.map((each) => each.key).join(", ") || "none"}. Name one with key.`,
    );
  const { workflow } = (await lookAt(app, runId, { now: 0 })).view;
  const drives = app.workflows.includes(workflow);
  const result = await (drives ? app.resume(point.token, value) : app.deliver(point.token, value));
  return plain({
    status: result.status,
    issues: result.issues,
    run: drives ? result.outcome?.status : "a worker continues it",
  });
}

function shortRow({
  key,
  kind,
  status,
  startedAt,
  endedAt,
  attempts,
  fromJournal,
  edited,
  usage,
  value,
  error,
}: RowView): object {
  return {
    key,
    kind,
    status,
    startedAt,
    endedAt,
    attempts: attempts.length,
    fromJournal,
    edited,
    usage,
    value,
    error,
  };
}
