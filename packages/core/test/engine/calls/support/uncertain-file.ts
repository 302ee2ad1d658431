/** Charges that are lines of a file: what a process did before it was killed can be counted. */

import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { durable, type Uncertain } from "@durable/core";

export type Mode = "suspend" | "look";

/** Idempotency keys of the charges in the file. */
export function chargesIn(file: string): string[] {
  return existsSync(file)
    ? readFileSync(file, "utf8")
        .split("\n")
        .filter((line) => line !== "")
    : [];
}

/** Charges by a line in the file; `then` comes between the effect and its record. */
export function fileShop(file: string, mode: Mode, then: () => void = () => {}) {
  const look = ({ idempotencyKey }: Uncertain) =>
    chargesIn(file).includes(idempotencyKey)
      ? ({ status: "completed", value: "found in the file" } as const)
      : ({ status: "retry" } as const);
  return durable("shop", async (ctx) => {
    const order = await ctx.step("order", () => "order 7");
    const receipt = await ctx.step(
      "charge",
      ({ idempotencyKey }) => {
        appendFileSync(file, `${idempotencyKey}\n`);
        then();
        return "charged";
      },
      { onUncertain: mode === "look" ? look : mode },
    );
    return [order, receipt];
  });
}
