/** A workflow with deadlines, and the makers of its journals: paused, retried, forked after a retry. */

import { durable, FatalError } from "@durable/core";
import { place, secret, tokenOf, type Makers, type Place } from "./golden-place.ts";

/** Whether the letter can be sent now. */
const mood = { broken: false };

export const letter = durable(
  "letter",
  async (ctx) => {
    const read = await ctx.parallel(
      { pull: (c) => c.step("pull", () => "pages"), ok: (c) => c.suspend<string>("ok") },
      { deadline: "30 days" },
    );
    const sent = await ctx.step("send", () => {
      if (mood.broken) throw new FatalError("no stamp");
      return "sent";
    });
    return { read, sent, now: ctx.now() };
  },
  { deadline: "60 days" },
);

export const goldenSteered = [letter];

async function parked(at: Place, id: string): Promise<string> {
  const outcome = await at.world.run(letter.with({ ...at, secret }).run(undefined, { id }));
  return tokenOf(outcome, "ok");
}

async function retried(at: Place, id: string): Promise<void> {
  const flow = letter.with({ ...at, secret });
  const token = await parked(at, id);
  await flow.get(id).pause({ reason: "inventory" });
  await flow.get(id).unpause({ drive: false });
  mood.broken = true;
  await at.world.run(flow.resume(token, "read"));
  mood.broken = false;
  await flow.get(id).retry({ deadline: "10 days", drive: false });
  await at.world.run(flow.run(undefined, { id }));
}

export const makersSteered: Makers = {
  "steered-paused": async () => {
    const at = place();
    await parked(at, "letter-1");
    await letter
      .with({ ...at, secret })
      .get("letter-1")
      .pause({ reason: "inventory" });
    return [at, "letter-1"];
  },
  "steered-retried": async () => {
    const at = place();
    await retried(at, "letter-2");
    return [at, "letter-2"];
  },
  "steered-forked-after-a-retry": async () => {
    const at = place();
    await retried(at, "letter-3");
    const fork = await letter.with({ ...at, secret }).fork("letter-3", { after: "send", id: "letter-4" });
    await at.world.run(fork.result());
    return [at, "letter-4"];
  },
};
