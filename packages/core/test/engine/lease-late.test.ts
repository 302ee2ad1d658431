/** A renewal that is under way when a drive ends. */

import { createApp, durable, type Storage } from "@durable/core";
import { expect, test } from "vitest";
import { lab, pause } from "../support/behaviour-lab.ts";

test("a renewal that arrives after the run has parked does not keep others from it", async () => {
  const base = lab();
  const flow = durable("job", async (ctx) => {
    await ctx.step("work", () => pause(base.world, 25_000));
    return ctx.suspend("go");
  });
  let leases = 0;
  /** The first request for the lease, which is a renewal, arrives after the run has parked. */
  const lease: Storage["lease"] = async (...given) => {
    if (++leases === 1) await pause(base.world, 15_000);
    return base.storage.lease(...given);
  };
  const storage = new Proxy(base.storage, {
    get(target, name) {
      if (name === "lease") return lease;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
  const app = createApp({ ...base, storage, workflows: [flow] });
  await app.start("job", undefined, { id: "r" });
  await base.world.advance(36_000);
  expect(leases).toBe(1);
  const { locator } = (await base.storage.list()).runs[0]!;
  expect(await base.storage.lease(locator, "another", 1_000)).not.toBeNull();
});
