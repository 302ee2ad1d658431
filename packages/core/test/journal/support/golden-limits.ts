/** A workflow with limits, and the makers of its journals: debounced, given a turn, begun. */

import { durable } from "@durable/core";
import { place, secret, type Makers } from "./golden-place.ts";

export const paced = durable(
  "paced",
  async (ctx, input: { readonly topic: string }) => ctx.step("write", () => `about ${input.topic}`),
  {
    concurrency: { max: 2, key: ({ topic }) => topic },
    rate: { max: 1, per: "1 hour" },
    priority: 5,
  },
);

export const goldenLimits = [paced];

export const makersOfLimits: Makers = {
  "debounced-then-queued": async () => {
    const at = place();
    const flow = paced.with({ ...at, secret });
    await at.world.run(flow.run({ topic: "rivers" }));
    const debounce = { key: "k", wait: "10s" } as const;
    await flow.start({ topic: "lakes" }, { id: "paced-1", debounce, drive: false });
    await at.world.advance(5_000);
    await flow.start({ topic: "tides" }, { debounce, drive: false });
    await at.world.run(flow.get("paced-1").result());
    return [at, "paced-1"];
  },
  "waits-for-its-time": async () => {
    const at = place();
    await paced
      .with({ ...at, secret })
      .start({ topic: "x" }, { id: "paced-2", delay: "1 day", drive: false });
    return [at, "paced-2"];
  },
};
