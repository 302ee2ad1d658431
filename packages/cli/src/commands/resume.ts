/** `durable resume`: answers a suspend point. With the code of the workflow the run also goes on here. */

import type { App, Outcome, ResumeResult, SuspendPoint } from "@durable/core";
import { Asker } from "../ask.ts";
import type { Command, CommandContext } from "../command.ts";
import { CliError, exit, exitOfStatus } from "../exit.ts";
import { lookAt } from "../look.ts";
import { findRun, shortId, wakeHint } from "../runs.ts";
import { inline } from "../text/format.ts";
import { questionOf } from "../text/note.ts";
import { schemaText } from "../text/schema.ts";
import { statusText } from "../text/status.ts";
import { waitLines } from "./show.ts";
import { readPairs, readValue } from "../values.ts";

export const resume: Command = {
  usage: "<run> [--data json | --set name=value ... | --error text] [--wait key]",
  summary: "Answers a suspend point; asks field by field in a terminal",
  arguments: [1, 1],
  examples: [
    "durable resume order-7",
    "durable resume @waiting",
    "durable resume order-7 --set approved=true",
    "durable resume order-7 --data @answer.json",
  ],
  options: {
    data: { type: "string", short: "d", value: "json", help: "the answer: JSON, text, @file or - for stdin" },
    set: { type: "string", multiple: true, value: "name=value", help: "one field of the answer" },
    error: {
      type: "string",
      value: "text",
      help: "answers with a failure: the wait rejects with this message",
    },
    wait: { type: "string", short: "w", value: "key", help: "which suspend point, where several are open" },
    id: { type: "string", value: "text", help: "names the answer, so that sending it twice counts once" },
    "no-drive": { type: "boolean", help: "only record the answer; a worker continues the run" },
  },
  more: ["Without the code of the workflow the answer is recorded, and a worker continues the run."],
  run: async (context) => {
    const {
      args: [reference = ""],
      flags,
      term,
      answer,
      session,
    } = context;
    const opened = await session();
    const { app } = opened;
    const runId = await findRun(app, reference);
    const wake = wakeHint(context, opened, runId);
    const point = await pointOf(context, app, { runId, wake });
    const failure = flags.text("error");
    const value = failure === undefined ? await answerTo(context, point, shortId(runId)) : undefined;
    const { workflow } = (await lookAt(app, runId, { now: context.now() })).view;
    const drives = !flags.on("no-drive") && app.workflows.includes(workflow);
    const id = flags.text("id");
    const error = failure === undefined ? undefined : new Error(failure);
    const result = await app.resume(point.token, value, { id, error, drive: drives });
    const outcome = drives ? result.outcome : undefined;
    answer({
      json: {
        runId,
        key: point.key,
        status: result.status,
        ...issuesOf(result),
        run: outcome?.status ?? null,
      },
      text: [
        sentence(result, point, drives),
        ...(outcome === undefined ? [] : [`${shortId(runId)} ${statusText(term, outcome.state)}`]),
      ],
      next:
        outcome === undefined && result.status === "accepted"
          ? [`a worker continues it; or: ${wake}`]
          : [`durable show ${shortId(runId)}`],
    });
    return exitOf(result, outcome);
  },
};

async function pointOf(
  { flags, term, streams, json }: CommandContext,
  app: App,
  { runId, wake }: { readonly runId: string; readonly wake: string },
): Promise<SuspendPoint> {
  const outcome = await app.get(runId).outcome();
  const open = "waiting" in outcome ? outcome.waiting.filter(({ topic }) => topic === undefined) : [];
  const wanted = flags.text("wait");
  const found =
    wanted === undefined ? open : open.filter(({ key, name }) => key === wanted || name === wanted);
  const [first] = found;
  if (first !== undefined && found.length === 1) return first;
  if (first === undefined) throw notWaiting(outcome, wanted, wake);
  if (!term.interactive || flags.on("no-input") || json)
    throw new CliError(
      `Run ${runId} waits at ${found.map(({ key }) => key).join(", ")}. Choose one with --wait.`,
    );
  const lines = found.map(
    ({ key, note }) =>
      `${key}  ${note === null || note === undefined ? "" : inline(questionOf(note) ?? note)}`,
  );
  return found[await new Asker(term, streams).choose("Which one?", lines)] ?? first;
}

function notWaiting(outcome: Outcome<unknown>, wanted: string | undefined, wake: string): CliError {
  const { runId, state } = outcome;
  const waiting = "waiting" in outcome ? outcome.waiting : [];
  const open = waiting.map(({ key }) => key).join(", ");
  const [mail] = waiting.filter(({ topic }) => topic !== undefined);
  if (mail !== undefined)
    return new CliError(
      `Run ${runId} waits for a message. Type: durable send ${shortId(runId)} '${mail.topic ?? ""}' '...'`,
      { exit: exit.refused, code: "not-waiting" },
    );
  const reasons = {
    other: `Run ${runId} has no open suspend point "${wanted ?? ""}". It waits at ${open}.`,
    queued: `Run ${runId} is queued: a driver must take it before it asks for an answer. Type: ${wake}`,
    none: `Run ${runId} is ${state} and waits for no answer.`,
  };
  const reason = open !== "" ? "other" : state === "queued" ? "queued" : "none";
  return new CliError(reasons[reason], { exit: exit.refused, code: "not-waiting" });
}

/** The answer that was given, or that a person gives now. */
async function answerTo(
  { flags, term, streams, json, now }: CommandContext,
  point: SuspendPoint,
  id: string,
): Promise<unknown> {
  const data = flags.text("data");
  const pairs = flags.list("set");
  if (data !== undefined && pairs.length > 0) throw new CliError("Use --data or --set, not both.");
  if (data !== undefined) return readValue(data, streams);
  if (pairs.length > 0) return readPairs(pairs, streams);
  if (!term.interactive || flags.on("no-input") || json) {
    const wants = point.schema === null ? "" : ` It wants ${schemaText(point.schema)}.`;
    throw new CliError(
      `This is not a terminal, so nothing is asked.${wants} Type: durable resume ${id} --wait '${point.key}' --data '...'`,
      {
        exit: exit.suspended,
        code: "needs-input",
      },
    );
  }
  const { key, note, schema, expiresAt, name } = point;
  term.complain(
    ...waitLines(
      { key, name, note, schema, expiresAt, wait: "", openedAt: now(), answered: false },
      term,
      now(),
    ),
  );
  return new Asker(term, streams).value(schema, "");
}

function issuesOf(result: ResumeResult): object {
  return "issues" in result ? { issues: result.issues } : {};
}

function sentence(result: ResumeResult, { key }: SuspendPoint, isChecked: boolean): string {
  switch (result.status) {
    case "accepted":
      return `The answer to ${key} is recorded${isChecked ? "" : ", and is checked when the run continues"}.`;
    case "duplicate":
      return `${key} was answered before. Nothing was changed.`;
    case "expired":
      return `The time for ${key} is over. Nothing was changed.`;
    case "invalid":
      return `The answer does not fit the schema of ${key}: ${"issues" in result ? String(result.issues) : ""}`;
    case "unknown":
      return `No open suspend point of this run has this token.`;
  }
}

function exitOf({ status }: ResumeResult, outcome: Outcome<unknown> | undefined): number {
  if (status === "accepted") return outcome === undefined ? exit.ok : exitOfStatus(outcome.status);
  return status === "invalid" ? exit.usage : status === "unknown" ? exit.notFound : exit.refused;
}
