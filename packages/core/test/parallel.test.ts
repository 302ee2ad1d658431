import { durable } from "@durable/core";
import { expect, test } from "vitest";
import { lab, pause, secret } from "./support/behaviour-lab.ts";

test("a failed parallel tells its other branches, so that work which listens does not hold the run up", async () => {
  const { world, storage } = lab();
  const flow = durable("siblings", (ctx) =>
    ctx.parallel({
      bad: (c) => c.step("bad", () => Promise.reject(new Error("no")), { retry: false }),
      patient: (c) =>
        c.step("listens", ({ signal }) => {
          const { promise, reject } = Promise.withResolvers<never>();
          signal.addEventListener("abort", () => reject(signal.reason as Error));
          return promise;
        }),
    }),
  ).with({ storage, world, secret });
  const outcome = await world.run(Promise.race([flow.run(undefined, { id: "r" }), pause(world, 600_000)]));
  expect(outcome).toMatchObject({ status: "failed" });
});
