/** What the tools of `durable mcp` share. */

import type { ForkOptions } from "@durable/core";
import { findRun } from "../runs.ts";
import type { Session } from "../session.ts";
import type { Tool } from "./protocol.ts";

export type Args = Readonly<Record<string, unknown>>;

/** Long values are cut: `get_step` gives one in full. */
export const textLength = 2_000;

export const runSchema = {
  type: "string",
  description: "The id of a run, the beginning or end of it, or @last, @failed, @waiting, @blocked",
};

export function schemaOf(properties: object, ...required: string[]): Tool["inputSchema"] {
  return { type: "object", properties, required };
}

export const forkSchema = schemaOf(
  {
    run: runSchema,
    from: { type: "string", description: "Runs this step again, and what came after it" },
    turn: { type: "integer", description: "Asks this turn of an agent again: 1 is the first, -1 the last" },
    after: { type: "string", description: "Keeps this step; what came after it runs again" },
    edit: { type: "object", description: "Other outputs, by key" },
    input: { description: "Another input" },
    label: { type: "string" },
  },
  "run",
);

export function forkOptions({ from: step, turn, after, edit, input, label }: Args): ForkOptions {
  const from = turn === undefined ? step : [step ?? [], { turn }].flat();
  const given = { from, after, edit, input, label };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/** A text argument. */
export function text(args: Args, name: string): string | undefined {
  const value = args[name];
  return typeof value === "string" ? value : undefined;
}

/** The run that an argument names. */
export function runOf({ app }: Session, args: Args, name = "run"): Promise<string> {
  return findRun(app, text(args, name) ?? "");
}
