import { createApp, durable } from "@durable/core";
import { expect, test } from "vitest";
import { lab } from "../support/behaviour-lab.ts";

test("a parent that is deleted while it is advanced leaves no child", async () => {
  for (const order of [0, 1])
    for (const cleans of [false, true]) {
      const base = lab();
      const kid = durable("kid", async (ctx) => {
        if (cleans) ctx.onCancel((c) => c.step("tidy", () => {}));
        await ctx.step("first", () => {});
        return ctx.suspend("go");
      });
      const flow = durable("job", async (ctx) => {
        if (cleans) ctx.onCancel((c) => c.step("tidy", () => {}));
        await ctx.step("first", () => {});
        return ctx.child(kid);
      });
      const app = createApp({ ...base, patience: 0, workflows: [flow, kid] });
      await app.start("job", undefined, { id: "r", drive: false });
      await base.world.run(app.advance("r"));
      const verbs = [() => app.delete("r"), () => app.advance("r").catch(() => {})] as const;
      const both = order === 0 ? verbs : verbs.toReversed();
      await base.world.run(Promise.all(both.map((verb) => verb())));
      await base.world.advance(60_000);
      expect(
        (await app.list()).runs.map(({ workflow, status }) => `${workflow} ${status}`),
        `${order} ${cleans}`,
      ).toEqual([]);
    }
});
