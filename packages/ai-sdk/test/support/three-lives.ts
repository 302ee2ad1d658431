/** One program three times: with the plain SDK, in a run, and in the run's next life, where the world is gone. */

import type { Context } from "@durable/core";
import { Lab } from "./lab.ts";

/** What a program is made with: a context in a run, and null with the plain SDK. */
export type Program = (ctx: Context | null, alive: boolean) => Promise<unknown>;

export interface Lives {
  readonly plain: unknown;
  readonly run: unknown;
  readonly next: unknown;
  readonly lab: Lab;
}

export async function threeLives(program: Program, between: () => unknown = () => {}): Promise<Lives> {
  const lab = new Lab();
  const plain = await seen(program(null, true));
  const run = await lab.drive((ctx) => seen(program(ctx, true)));
  const entries = (await lab.entries()).length;
  await between();
  const next = await lab.drive((ctx) => seen(program(ctx, false)));
  if ((await lab.entries()).length !== entries) throw new Error("The next life recorded something.");
  if (lab.warnings.length > 0) throw new Error(`Warnings: ${lab.warnings.join(" ")}`);
  return { plain, run: run.value, next: next.value, lab };
}

/** What a program gave or threw, as plain data. */
async function seen(work: Promise<unknown>): Promise<unknown> {
  try {
    return { value: data(await work) };
  } catch (error) {
    const { name, message, cause } = error as Error;
    return { error: { name, message, cause: String(cause) } };
  }
}

/** A copy with the values of getters, which results of the SDK are made of. */
function data(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Date || ArrayBuffer.isView(value)) return structuredClone(value);
  if (value instanceof Error) return { name: value.name, message: value.message };
  if (Array.isArray(value)) return value.map(data);
  const { prototype } = Object;
  const names = new Set(Object.keys(value));
  for (let at: unknown = value; at !== null && at !== prototype; at = Object.getPrototypeOf(at))
    for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(at)))
      if (property.get !== undefined) names.add(name);
  const fields = [...names]
    .filter((name) => !name.startsWith("_"))
    .toSorted()
    .map((name) => [name, data((value as Record<string, unknown>)[name])] as const);
  return Object.fromEntries(fields.filter(([, field]) => field !== undefined && typeof field !== "function"));
}
