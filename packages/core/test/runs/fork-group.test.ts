/** A fork after a group: what was called beside the group, before it ended, is kept. */

import { durable, type Context } from "@durable/core";
import { expect, test } from "vitest";
import { lab, pause } from "../support/behaviour-lab.ts";

test("a fork after a group goes back to the end of the group, not to its first result", async () => {
  const on = lab();
  let ran: string[] = [];
  const flow = durable("flow", async (ctx: Context) => {
    const work = (name: string, ms: number) => async () => {
      ran.push(name);
      await pause(on.world, ms);
      return name;
    };
    const beside = async () => {
      await ctx.step("beside", work("beside", 10));
      await ctx.step("beside later", work("beside later", 1));
    };
    const group = ctx.parallel(
      { fast: (c) => c.step("a", work("a", 1)), slow: (c) => c.step("b", work("b", 50)) },
      { name: "group" },
    );
    await Promise.all([group, beside()]);
    return ctx.step("end", work("end", 1));
  }).with({ ...on });
  await on.world.run(flow.run(undefined, { id: "r" }));
  expect(ran).toEqual(["a", "b", "beside", "beside later", "end"]);
  ran = [];
  const fork = await on.world.run(flow.get("r").fork({ id: "f", after: "group" }));
  await on.world.run(fork.result());
  expect(ran).toEqual(["end"]);
});
