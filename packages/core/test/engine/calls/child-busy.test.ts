import { createApp, durable } from "@durable/core";
import { describe, expect, test } from "vitest";
import { lab, pause, tokenOf } from "../../support/behaviour-lab.ts";
import { silent } from "../../support/behaviour-lives.ts";
import { childOf, childrenOf } from "./support/child-family.ts";

const toy = durable("toy", (ctx) => ctx.suspend<string>("colour"));

describe("a parent that is busy when its child is answered", () => {
  test.each(["told by the storage", "by polling"])("hears of the child's end, %s", async (how) => {
    const on = lab();
    const storage = how === "by polling" ? silent(on) : on.storage;
    let begun = 0;
    const busy = durable("busy", async (ctx) => {
      const [colour] = await ctx.parallel([
        (c) => c.child(toy),
        (c) => c.step("long", () => pause(on.world, 3_600_000)),
        async (c) => {
          await c.child(toy, undefined, { name: "other" });
          await c.step("next", () => void (begun = on.world.now()));
        },
      ]);
      return colour;
    });
    const app = createApp({ ...on, storage, workflows: [busy, toy] });
    const run = await busy.with({ ...on, storage }).start(undefined, { id: "r" });
    await on.world.advance(60_000);
    const [, other] = await childrenOf(on.storage, "r");
    const answered = on.world.now();
    const point = await app.get(other!.runId).outcome();
    await on.world.run(app.resume(tokenOf(point), "blue"));
    await on.world.advance(30_000);
    expect(begun - answered).toBeGreaterThanOrEqual(0);
    expect(begun - answered).toBeLessThan(15_000);
    const [first] = await childrenOf(on.storage, "r");
    await on.world.run(app.resume(tokenOf(await app.get(first!.runId).outcome()), "red"));
    expect(await on.world.run(run.result())).toBe("red");
  });

  test.each(["in the same process", "in another"])(
    "drives an answered grandchild at once, though only its own flow is known, %s",
    async (where) => {
      const on = lab();
      const nest = durable("nest", (ctx) => ctx.child(toy));
      let heard = 0;
      const busy = durable("busy", (ctx) =>
        ctx.parallel([
          async (c) => {
            await c.child(nest);
            heard = on.world.now();
          },
          (c) => c.step("long", () => pause(on.world, 3_600_000)),
        ]),
      ).with({ ...on });
      const run = await busy.start(undefined, { id: "r" });
      await on.world.advance(60_000);
      const { runId } = await childOf(on, (await childOf(on)).runId);
      const token = tokenOf(
        await createApp({ ...on, workflows: [] })
          .get(runId)
          .outcome(),
      );
      const at = on.world.now();
      const flow = where === "in another" ? busy.with({ ...on }) : busy;
      expect(await on.world.run(flow.resume(token, "red"))).toMatchObject({ status: "accepted" });
      await on.world.advance(20_000);
      expect(heard - at).toBeGreaterThanOrEqual(0);
      expect(heard - at).toBeLessThan(15_000);
      await on.world.run(run.result());
    },
  );
});
