/** `durable limits`: what is taken and waits, per workflow and key, and how much of each rate and limit is used. */

import type { SlotUse, StorageLimits } from "@durable/core";
import type { Command } from "../command.ts";
import { CliError, exit } from "../exit.ts";
import { styled, type Terminal } from "../terminal.ts";
import { table } from "../text/table.ts";

export const limits: Command = {
  usage: "",
  summary: "Shows which slots are taken, and which runs wait for one",
  arguments: [0, 0],
  options: {},
  run: async (context) => {
    const { storage, label } = await context.session();
    if (storage.limits === undefined)
      throw new CliError(`${label} keeps no limits. SQLite and Postgres do.`, { code: "no-limits" });
    const slots = await storage.limits.slots();
    const windows = await windowsOf(storage.limits);
    const empty = slots.length + windows.length === 0;
    context.answer({
      json: { store: label, slots, windows },
      text: empty
        ? ["No run has a slot or waits for one, and no rate is in use."]
        : [...slotLines(slots, context.term), ...windowLines(windows, context.term)],
    });
    return exit.ok;
  },
};

interface WindowUse {
  /** `rate` of a workflow and key, or `limit` of steps. */
  readonly kind: string;
  readonly name: string;
  /** What was used within the latest window: runs or requests, then tokens. */
  readonly used: readonly number[];
  /** Calls under way, for limits of steps. */
  readonly calls: number;
}

/** The texts as runs/window.ts and runs/permits.ts of the library write them. */
async function windowsOf(limitsOf: StorageLimits): Promise<WindowUse[]> {
  const texts = [...(await limitsOf.texts("limit ")), ...(await limitsOf.texts("rate "))];
  return texts.map(({ name, value }) => {
    const border = name.indexOf(" ");
    const [kind, rest] = [name.slice(0, border), name.slice(border + 1)];
    if (kind === "rate") {
      const [workflow = "", key = ""] = JSON.parse(rest) as string[];
      return { kind, name: [workflow, key].filter(Boolean).join(" "), used: usedIn(value), calls: 0 };
    }
    const [window, calls] = JSON.parse(value) as [string | null, object?];
    return { kind, name: rest, used: usedIn(window ?? "[0]"), calls: Object.keys(calls ?? {}).length };
  });
}

/** The sums of a window: its first part is a time, each other one a time and amounts. */
function usedIn(window: string): number[] {
  const [, ...parts] = JSON.parse(window) as [number, ...number[][]];
  return parts.reduce<number[]>(
    (sum, [, ...amounts]) => amounts.map((amount, n) => (sum[n] ?? 0) + amount),
    [],
  );
}

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
  const rows = windows.map(({ kind, name, used: [requests = 0, tokens = 0], calls }) => [
    kind,
    name,
    String(requests),
    kind === "rate" ? "" : String(Math.round(tokens)),
    kind === "rate" ? "" : String(calls),
  ]);
  const columns = [
    { title: "KIND" },
    { title: "NAME", least: 8 },
    { title: "USED", right: true },
    { title: "TOKENS", right: true, optional: true },
    { title: "CALLS", right: true, optional: true },
  ];
  return table(columns, rows, term.width);
}
