import { durable } from "@durable/core";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { lab, tokenOf } from "../support/behaviour-lab.ts";

/** Text, where "none" means that there is none. */
const text = z
  .string()
  .nullable()
  .transform((value) => (value === "none" ? null : value));

describe.each([
  ["none", null],
  [null, null],
  ["other", "other"],
])("an edit to %j", (edit, expected) => {
  test("of a step is what its schema makes of it", async () => {
    const on = lab();
    const flow = durable("steps", async (ctx) => {
      const x = await ctx.step("x", () => "first", { schema: text });
      return { x, seen: await ctx.step("seen", () => x) };
    }).with({ ...on });
    await on.world.run(flow.run(undefined, { id: "r" }));
    const fork = await on.world.run(flow.fork("r", { edit: { x: edit }, id: "fork" }));
    expect(await on.world.run(fork.result())).toEqual({ x: expected, seen: expected });
    const again = await on.world.run(flow.fork("fork", { from: "seen", id: "again" }));
    expect(await on.world.run(again.result())).toEqual({ x: expected, seen: expected });
  });

  test("of a suspend point is what its schema makes of it, answered or open", async () => {
    const on = lab();
    const flow = durable("asks", (ctx) => ctx.suspend("x", { schema: text })).with({ ...on });
    const token = tokenOf(await on.world.run(flow.run(undefined, { id: "r" })));
    const open = await on.world.run(flow.fork("r", { edit: { x: edit }, id: "open" }));
    expect(await on.world.run(open.result())).toBe(expected);
    await on.world.run(flow.resume(token, "first"));
    const answered = await on.world.run(flow.fork("r", { edit: { x: edit }, id: "answered" }));
    expect(await on.world.run(answered.result())).toBe(expected);
  });
});
