/** `durable tail`: what happens, as it happens. */

import { setTimeout as sleep } from "node:timers/promises";
import type { App, ListedRun } from "@durable/core";
import type { Entry } from "@durable/core/types";
import { answerText, partsOfChunk, plain } from "@durable/core/inspect";
import type { Command, CommandContext } from "../command.ts";
import { exit, exitOfStatus } from "../exit.ts";
import { isoTimes } from "../iso-times.ts";
import type { Session } from "../session.ts";
import { allRuns, findRun, shortId } from "../runs.ts";
import { styled } from "../terminal.ts";
import { inline, when, zoneName } from "../text/format.ts";
import { statusText } from "../text/status.ts";
import { headJson } from "./ls.ts";

const pollMs = 250;

export const tail: Command = {
  usage: "[run]",
  summary: "Follows a run entry by entry, or the runs of a storage",
  arguments: [0, 1],
  examples: ["durable tail order-7", "durable tail --json"],
  options: {
    "no-follow": { type: "boolean", help: "stops at the end of what is recorded" },
    from: { type: "string", value: "seq", help: "only entries after this position" },
  },
  more: ["With --json: one JSON document per line. Follows until the run has ended, or Ctrl-C."],
  run: async (context) => {
    const [reference] = context.args;
    const { app, prices } = await context.session();
    const { term, now } = context;
    if (!context.json) term.say(styled("dim", `Times in ${zoneName(now(), term)}.`));
    return reference === undefined
      ? followAll(context, { app, prices })
      : followOne(context, app, await findRun(app, reference));
  },
};

async function followOne(context: CommandContext, app: App, runId: string): Promise<number> {
  const { flags, streams } = context;
  let seen = Number(flags.text("from") ?? 0) || 0;
  for (;;) {
    const entries = await app.get(runId).entries({ after: seen, struck: true });
    for (const entry of entries) {
      seen = entry.seq;
      write(context, entryDocument(runId, entry), entryText(entry, context));
    }
    const last = entries.at(-1);
    if (last !== undefined && isEnd(last)) return exitOfStatus(statusOf(last));
    if (flags.on("no-follow") || streams.signal?.aborted === true) return exit.ok;
    await sleep(pollMs);
  }
}

function isEnd({ kind }: Entry): boolean {
  return kind === "run.completed" || kind === "run.failed" || kind === "run.cancelled";
}

function statusOf({ kind }: Entry): "completed" | "failed" | "cancelled" {
  return kind.slice("run.".length) as "completed" | "failed" | "cancelled";
}

/** New and changed runs; first the newest ones as they are. */
async function followAll(
  context: CommandContext,
  { app, prices }: Pick<Session, "app" | "prices">,
): Promise<number> {
  const { flags, streams, term } = context;
  const known = new Map<string, number>();
  for (let first = true; ; first = false) {
    const fresh: ListedRun[] = [];
    let looked = 0;
    for await (const head of allRuns(app)) {
      if (known.get(head.runId) !== head.updatedAt) fresh.push(head);
      known.set(head.runId, head.updatedAt);
      if (++looked >= (first ? 20 : 500)) break;
    }
    for (const head of fresh.toReversed()) {
      const text = `${styled("dim", when(head.updatedAt, context.now(), term))} ${statusText(term, head.state)} ${head.workflow} ${shortId(head.runId)}`;
      write(context, { run: headJson(head, prices) }, text);
    }
    if (flags.on("no-follow") || streams.signal?.aborted === true) return exit.ok;
    await sleep(pollMs);
  }
}

function write({ json, term }: CommandContext, document: object, text: string): void {
  if (json) term.raw(`${JSON.stringify(isoTimes(plain({ v: 1, ...document })))}\n`);
  else term.out(text);
}

function entryDocument(runId: string, entry: Entry): object {
  return { runId, entry };
}

function entryText(entry: Entry, { now: clock, term }: CommandContext): string {
  const now = clock();
  const { kind, at } = entry;
  const key = "key" in entry ? ` ${entry.key}` : "";
  const tries = "attempt" in entry && entry.attempt > 1 ? styled("dim", ` try ${entry.attempt}`) : "";
  const about = `${tries} ${styled("dim", aboutOf(entry))}`;
  if (entry.struck !== undefined)
    return styled("dim", `${when(at, now, term)} ${kind}${key} (struck by a retry)`);
  return `${styled("dim", when(at, now, term))} ${kindText(kind)}${key}${about}`.trimEnd();
}

function kindText(kind: Entry["kind"]): string {
  if (/failed|expired|cancelled/.test(kind)) return styled("red", kind);
  if (/opened|suspended|started/.test(kind)) return styled("yellow", kind);
  return styled("green", kind);
}

function aboutOf(entry: Entry): string {
  if (entry.kind === "stream.chunks") return chunksText(entry.chunks);
  if ("error" in entry) return inline(entry.error instanceof Error ? entry.error.message : entry.error);
  if ("value" in entry && answerText(entry.value) !== "") return inline(answerText(entry.value));
  if ("output" in entry) return inline(entry.output);
  if ("value" in entry && entry.value !== undefined) return inline(entry.value);
  return "note" in entry && entry.note !== null ? inline(entry.note) : "";
}

/** What a model said, as text; other chunks as they are. */
function chunksText(chunks: readonly unknown[]): string {
  const text = answerText(chunks);
  if (text !== "") return inline(text, 1_000);
  const parts = chunks.flatMap(partsOfChunk);
  return parts.map((part) => inline((part as { type?: unknown } | null)?.type ?? part, 80)).join(" ");
}
