/** `durable schedules`: lists, pauses, unpauses, triggers and removes schedules, and shows their next ticks. */

import type { App, ScheduleInfo } from "@durable/core";
import type { Command, CommandContext } from "../command.ts";
import { CliError, exit } from "../exit.ts";
import { shortId } from "../runs.ts";
import { duration, when, whenIn, zoneName } from "../text/format.ts";
import { table } from "../text/table.ts";
import { styled, type Terminal } from "../terminal.ts";

const verbs = ["ls", "pause", "unpause", "next", "trigger", "rm"] as const;
type Verb = (typeof verbs)[number];

export const schedules: Command = {
  usage: "[ls] | pause <name> | unpause <name> | next <name> | trigger <name> | rm <name>",
  summary: "Lists schedules, pauses, unpauses, triggers and removes them",
  arguments: [0, 2],
  examples: ["durable schedules", "durable schedules next nightly -n 3", "durable schedules pause nightly"],
  options: { count: { type: "string", short: "n", value: "5", help: "how many ticks `next` shows" } },
  more: [
    "A pause survives deploys. A schedule that was removed returns when a program defines it again.",
    "trigger records one more run now, and needs the code of the workflow.",
  ],
  run: async (context) => {
    const [given = "ls", name] = context.args;
    const verb = verbs.find((each) => each === given);
    if (verb === undefined)
      throw new CliError(`There is no "durable schedules ${given}". Use one of ${verbs.join(", ")}.`);
    if (verb === "ls") return list(context);
    if (name === undefined) throw new CliError(`Which schedule? durable schedules ${verb} <name>`);
    return act[verb](context, name);
  },
};

async function list({ session, answer, term, now }: CommandContext): Promise<number> {
  const { app, label } = await session();
  const found: ScheduleInfo[] = [];
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await app.schedules.list({ limit: 1_000, cursor });
    found.push(...page.schedules);
    cursor = page.next;
  }
  answer({
    json: { store: label, schedules: found },
    text: found.length === 0 ? ["No schedules yet."] : listing(found, term, now()),
    ...(found.length === 0
      ? { next: ['in code: await app.schedule("daily", flow, { cron: "0 9 * * *" })'] }
      : {}),
  });
  return exit.ok;
}

function listing(found: readonly ScheduleInfo[], term: Terminal, now: number): string[] {
  return table(
    [
      { title: "SCHEDULE", least: 10 },
      { title: "WORKFLOW", least: 10 },
      { title: "WHEN", least: 10 },
      { title: `NEXT (${zoneName(now, term)})` },
      { title: "LAST", optional: true },
      { title: "", optional: true },
    ],
    found.map((each) => [
      each.name,
      each.workflow,
      timing(each),
      each.nextAt === null ? styled("yellow", "paused") : when(each.nextAt, now, term),
      each.lastAt === null ? "" : when(each.lastAt, now, term),
      each.queuedAt === null ? "" : styled("dim", "one tick waits"),
    ]),
    term.width,
  );
}

function timing({ cron, every, timezone }: ScheduleInfo): string {
  return cron === null ? `every ${duration(every ?? 0)}` : `${cron} ${timezone}`;
}

type Act = (context: CommandContext, name: string) => Promise<number>;

const act: Readonly<Record<Exclude<Verb, "ls">, Act>> = {
  pause: (context, name) => changed(context, (app) => app.schedules.pause(name)),
  unpause: (context, name) => changed(context, (app) => app.schedules.unpause(name)),

  next: async ({ session, answer, flags, term, now }, name) => {
    const count = Number(flags.text("count") ?? 5);
    const { app } = await session();
    const [schedule, ticks] = [await app.schedules.get(name), await app.schedules.next(name, count)];
    const zone = schedule.timezone ?? "UTC";
    const local = new Intl.DateTimeFormat("sv-SE", {
      timeZone: zone,
      dateStyle: "short",
      timeStyle: "medium",
    });
    answer({
      json: { name, timezone: zone, paused: schedule.paused, next: ticks },
      text: ticks.map((at) => `${local.format(at)} ${zone}  ${styled("dim", whenIn(at, now(), term))}`),
      ...(schedule.paused ? { next: [`it is paused: durable schedules unpause ${name}`] } : {}),
    });
    return exit.ok;
  },

  trigger: async ({ session, answer }, name) => {
    const { app } = await session("code");
    const run = await app.schedules.trigger(name);
    answer({
      json: { name, runId: run.id },
      text: [`Recorded ${run.id}. A worker or a sweep drives it.`],
      next: [`durable show ${shortId(run.id)}`],
    });
    return exit.ok;
  },

  rm: async (context, name) => {
    const { app } = await context.session();
    await app.schedules.delete(name);
    context.answer({ json: { name, deleted: true }, text: [`Removed ${name}. Its runs stay.`] });
    return exit.ok;
  },
};

async function changed(
  { session, answer, term, now }: CommandContext,
  change: (app: App) => Promise<ScheduleInfo>,
): Promise<number> {
  const { app } = await session();
  const schedule = await change(app);
  const { name, nextAt } = schedule;
  answer({
    json: { schedule },
    text: [nextAt === null ? `${name} is paused.` : `${name} ticks next ${whenIn(nextAt, now(), term)}.`],
  });
  return exit.ok;
}
