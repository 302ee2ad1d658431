/** What `durable(name, fn, { messages })` says about topics. Checked by `npm run types`. */

import { durable } from "@durable/core";
import { expectTypeOf } from "vitest";
import { z } from "zod";

const flow = durable(
  "order",
  async (ctx) => {
    const change = await ctx.receive("change");
    expectTypeOf(change).toEqualTypeOf<{ count: number }>();
    for await (const note of ctx.messages("note")) expectTypeOf(note).toEqualTypeOf<string>();
    return change.count;
  },
  { messages: { change: z.object({ count: z.number() }), note: z.string() } },
);

const run = flow.get("order-1");
void run.send("change", { count: 1 });
void run.send("note", "soon");
// @ts-expect-error -- a payload that does not fit its topic
void run.send("change", { count: "one" });
