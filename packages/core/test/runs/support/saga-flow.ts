/** A booking of five parts against a ledger in a file, which counts an idempotency key once. */

import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { durable, FatalError, type Workflow } from "@durable/core";

/** How the booking ends: booked, failed at its last part, or cancelled when all parts are booked. */
export type Ends = "books" | "fails" | "waits";

export const parts = ["flight", "hotel", "car", "meal", "tour"] as const;

/** Every line is what the service was asked: `book flight <key>`. */
export function saga(file: string, ends: Ends): Workflow<unknown, string> {
  const ask = (what: string, name: string, key: string): void =>
    appendFileSync(file, `${what} ${name} ${key}\n`);
  return durable("saga", async (ctx) => {
    for (const name of parts) {
      await ctx.step(
        name,
        ({ idempotencyKey }) => {
          ask("book", name, idempotencyKey);
          if (name === "tour" && ends === "fails") throw new FatalError("sold out");
          return `${name} 1`;
        },
        { compensate: ({ idempotencyKey }) => ask("refund", name, idempotencyKey) },
      );
    }
    if (ends === "waits") await ctx.suspend("paid");
    return "booked";
  });
}

/** What the ledger has done: each key counts once, in the order of its first line. */
export function doneIn(file: string): { readonly booked: string[]; readonly refunded: string[] } {
  const lines = existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
  const seen = new Set<string>();
  const names = (what: string): string[] =>
    lines
      .filter((line) => line.startsWith(`${what} `) && seen.size !== seen.add(line).size)
      .map((line) => line.split(" ")[1] ?? "");
  return { booked: names("book"), refunded: names("refund") };
}
