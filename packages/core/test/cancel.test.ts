import { durable } from "@durable/core";
import { expect, test } from "vitest";
import { hooked, lab, secret } from "./support/behaviour-lab.ts";

test("cancel reaches work that a branch left behind when it returned", async () => {
  const { world, storage } = lab();
  let aborted = false;
  const flow = durable("dangling", async (ctx) => {
    await ctx.parallel({
      quick: async (c) => {
        void c.step("left", ({ signal }) => {
          signal.addEventListener("abort", () => (aborted = true));
          return new Promise(() => {});
        });
      },
    });
    await ctx.sleep("1h");
  }).with({ storage, world, secret });
  await flow.start(undefined, { id: "r" });
  await world.advance(1_000);
  await world.run(flow.cancel("r"));
  await world.advance(1_000);
  expect(aborted).toBe(true);
});

test("work is told to stop when its driver gives up on the storage", async () => {
  const { world, storage } = lab();
  let aborted = false;
  const down = hooked(storage, (operation, moment, index) => {
    if (operation === "append" && moment === "before" && index > 1) throw new Error("down");
  });
  const flow = durable("storm", (ctx) =>
    Promise.all([
      ctx.step("quick", () => 1),
      ctx.step("long", ({ signal }) => {
        signal.addEventListener("abort", () => (aborted = true));
        return new Promise(() => {});
      }),
    ]),
  ).with({ storage: down, world, secret });
  await expect(world.run(flow.run(undefined, { id: "r" }))).rejects.toMatchObject({ code: "storage-failed" });
  expect(aborted).toBe(true);
});
