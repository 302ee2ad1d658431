/** `durable workers`: the workers that have a name, and the work that is driven or waits for one. */

import { fleetOf, type StoppedWorker, type WorkerInfo, type WorkflowLoad } from "@durable/core/inspect";
import type { Command } from "../command.ts";
import { exit } from "../exit.ts";
import { styled, type Terminal } from "../terminal.ts";
import { duration, when, zoneName } from "../text/format.ts";
import { table } from "../text/table.ts";

export const workers: Command = {
  usage: "",
  summary: "Lists workers, and the work that is driven or waits for one",
  arguments: [0, 0],
  examples: ["durable workers"],
  options: {},
  more: [
    'A worker is listed if it has a name: createWorker(app, { name: "mail-1" }), on SQLite or Postgres.',
    "It writes every 15 seconds, is silent when it did not for 20 seconds, and is no longer listed a minute after it died. A worker that stopped is named for a day.",
  ],
  run: async ({ session, answer, term, now }) => {
    const { app, label } = await session();
    const { workers: found, stopped, load, more } = await fleetOf(app);
    const waits = load.some(({ due, paused }) => due > 0 && !paused);
    answer({
      json: { store: label, workers: found, stopped, load, more },
      text: [
        ...workerLines(found, stopped.length > 0, { term, now: now() }),
        ...stoppedLines(stopped, term, now()),
        ...loadLines(load, term, now()),
        ...(more ? [styled("dim", "More runs are under way than were counted.")] : []),
      ],
      ...(waits ? { next: ["runs are due: start a worker, or drive one with durable wake <run>"] } : {}),
    });
    return exit.ok;
  },
};

function stoppedLines(stopped: readonly StoppedWorker[], term: Terminal, now: number): string[] {
  return stopped.map(
    ({ name, stoppedAt }) =>
      `${name} stopped ${duration(Math.max(0, now - stoppedAt))} ago, at ${when(stoppedAt, now, term)}`,
  );
}

function workerLines(
  found: readonly WorkerInfo[] | null,
  hasStopped: boolean,
  { term, now }: { readonly term: Terminal; readonly now: number },
): string[] {
  if (found === null) return ["This storage cannot list workers. SQLite and Postgres can."];
  if (found.length === 0 && hasStopped) return ["No worker with a name runs."];
  if (found.length === 0) return ['No worker has a name: createWorker(app, { name: "mail-1" })'];
  const names = Map.groupBy(found, ({ name }) => name);
  const rows = found.map(({ name, id, active, concurrency, since, seenAt, silent, versions, workflows }) => [
    names.get(name)?.length === 1 ? name : `${name} (${id.slice(-6)})`,
    `${active} of ${concurrency}`,
    when(since, now, term),
    seenText(Math.max(0, now - seenAt), silent),
    [...workflows, ...(versions ?? []).map((version) => `version ${version}`)].join(", "),
  ]);
  const columns = [
    { title: "WORKER", least: 10 },
    { title: "DRIVES", right: true },
    { title: `SINCE (${zoneName(now, term)})`, optional: true },
    { title: "SEEN" },
    { title: "WORKFLOWS", least: 10, optional: true },
  ];
  return table(columns, rows, term.width);
}

function seenText(agoMs: number, silent: boolean): string {
  return silent ? styled("yellow", `silent for ${duration(agoMs)}`) : `${duration(agoMs)} ago`;
}

function loadLines(load: readonly WorkflowLoad[], term: Terminal, now: number): string[] {
  if (load.length === 0) return ["No run is under way, and none is due."];
  const rows = load.map(({ workflow, driven, due, dueSince, paused }) => [
    workflow || styled("dim", "(no workflow)"),
    String(driven),
    String(due),
    dueSince === null ? "" : duration(Math.max(0, now - dueSince)),
    paused ? styled("yellow", "paused") : "",
  ]);
  const columns = [
    { title: "WORKFLOW", least: 10 },
    { title: "DRIVEN", right: true },
    { title: "DUE", right: true },
    { title: "LONGEST", right: true, optional: true },
    { title: "", optional: true },
  ];
  return ["", ...table(columns, rows, term.width)];
}
