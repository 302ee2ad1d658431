/** A workflow whose bodies say who runs them, and wait where they are told to. */

import { durable } from "@durable/core";

export interface Stage {
  /** Who drives. */
  readonly name: string;
  /** Hears each body as it begins; the step ends when this does. */
  readonly body: (step: string) => Promise<void>;
}

export const secret = "a secret for tests, of no worth";

export function reportOf({ name, body }: Stage) {
  return durable("report", async (ctx, topic: string) => {
    const step = (key: string) =>
      ctx.step(key, async () => {
        await body(key);
        return `${key} by ${name}`;
      });
    const plan = await step("plan");
    const approved = await ctx.suspend<boolean>("approve");
    const parts = [plan, await step("outline"), await step("draft"), await step("publish")];
    return `${topic}, ${approved ? "approved" : "refused"}: ${parts.join(", ")}`;
  });
}
