/** `durable limits`: what is taken and waits, per workflow and key, and how much of each rate and limit is used. */

import type { SlotUse } from "@durable/core/storage";
import { limitUse, type WindowUse } from "@durable/core/inspect";
import type { Command } from "../command.ts";
import { CliError, exit } from "../exit.ts";
import { styled, type Terminal } from "../terminal.ts";
import { table } from "../text/table.ts";

export const limits: Command = {
  usage: "",
  summary: "Shows which slots are taken, which runs wait for one, and the use of rates and limits",
  arguments: [0, 0],
  examples: ["durable limits"],
  options: {},
  run: async (context) => {
    const { storage, label } = await context.session();
    const use = await limitUse(storage);
    if (use === null)
      throw new CliError(`${label} keeps no limits. SQLite and Postgres do.`, { code: "no-limits" });
    const { slots, windows } = use;
    const empty = slots.length + windows.length === 0;
    context.answer({
      json: { store: label, slots, windows },
      text: empty
        ? ["No run has a slot or waits for one, and no rate or limit is in use."]
        : [...slotLines(slots, context.term), ...windowLines(windows, context.term)],
    });
    return exit.ok;
  },
};

function slotLines(slots: readonly SlotUse[], term: Terminal): string[] {
  if (slots.length === 0) return [];
  const rows = slots.map(({ workflow, slot, taken, waiting }) => [
    workflow,
    slot === "" ? styled("dim", "(all)") : slot,
    String(taken),
    String(waiting),
  ]);
  const columns = [
    { title: "WORKFLOW", least: 10 },
    { title: "KEY", least: 8 },
    { title: "TAKEN", right: true },
    { title: "WAITING", right: true },
  ];
  return table(columns, rows, term.width);
}

function windowLines(windows: readonly WindowUse[], term: Terminal): string[] {
  if (windows.length === 0) return [];
  const rows = windows.map(({ kind, name, used, tokens, cost, calls, damaged }) => [
    kind,
    name,
    damaged ? "damaged" : String(used),
    kind === "rate" ? "" : String(tokens),
    cost === 0 ? "" : String(Number(cost.toPrecision(4))),
    kind === "rate" ? "" : String(calls),
  ]);
  const columns = [
    { title: "KIND" },
    { title: "NAME", least: 8 },
    { title: "USED", right: true },
    { title: "TOKENS", right: true, optional: true },
    { title: "COST", right: true, optional: true },
    { title: "CALLS", right: true, optional: true },
  ];
  return table(columns, rows, term.width);
}
