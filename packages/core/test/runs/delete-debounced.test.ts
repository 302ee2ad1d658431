import { createApp, durable } from "@durable/core";
import { expect, test } from "vitest";
import { lab } from "../support/behaviour-lab.ts";

test("a debounced start beside the delete of the run that has its key records a run", async () => {
  const base = lab();
  const flow = durable("job", (ctx, input: number) => ctx.step("work", () => input));
  const app = createApp({ ...base, patience: 0, workflows: [flow] });
  const debounce = { key: "k", wait: "1 minute" } as const;
  await app.start("job", 1, { id: "r", drive: false, debounce });
  await base.world.advance(60_000);
  const [, next] = await base.world.run(
    Promise.all([app.delete("r"), app.start("job", 2, { drive: false, debounce })]),
  );
  expect(await base.world.run(app.list())).toMatchObject({ runs: [{ runId: next.id }] });
});
