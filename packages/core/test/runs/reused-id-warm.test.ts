import { createApp, durable, type App } from "@durable/core";
import { describe, expect, test } from "vitest";
import { nonceLab, outputOf, tokenOf, type Lab } from "../support/behaviour-lab.ts";
import { batchesOf } from "../support/behaviour-lives.ts";

/** Waits after `steps` steps. */
const ask = durable("ask", async (ctx, steps: number) => {
  for (let n = 0; n < steps; n++) await ctx.step("work", () => n);
  return `${steps} ${await ctx.suspend<string>("ok")}`;
});

interface Reused {
  readonly on: Lab;
  /** A process that keeps the deleted run in memory. */
  readonly app: App;
  readonly oldToken: string;
  readonly newToken: string;
}

/** Run `r` is parked in one process, which keeps it; it is deleted and started again in the same one or elsewhere. */
async function reused(place: "here" | "elsewhere", steps: number): Promise<Reused> {
  const on = nonceLab();
  const process = (): App => createApp({ ...on, workflows: [ask], warm: 10 });
  const app = process();
  const other = place === "here" ? app : process();
  await on.world.run((await app.start("ask", 1, { id: "r" })).result().catch(() => {}));
  const oldToken = tokenOf(await app.get("r").outcome());
  await on.world.run(other.delete("r"));
  await on.world.advance(1_000);
  await on.world.run((await other.start("ask", steps, { id: "r" })).result().catch(() => {}));
  return { on, app, oldToken, newToken: tokenOf(await other.get("r").outcome()) };
}

const cases = [
  { place: "here", length: "as long", steps: 1 },
  { place: "here", length: "shorter", steps: 0 },
  { place: "here", length: "longer", steps: 3 },
  { place: "elsewhere", length: "as long", steps: 1 },
  { place: "elsewhere", length: "shorter", steps: 0 },
  { place: "elsewhere", length: "longer", steps: 3 },
] as const;

describe.each(cases)(
  "a run in memory that was deleted $place, and whose id has a run that is $length",
  ({ place, steps }) => {
    test("does not answer for the new run", async () => {
      const { on, app, newToken } = await reused(place, steps);
      expect(tokenOf(await on.world.run(app.advance("r")))).toBe(newToken);
      expect((await on.world.run(app.resume(newToken, "mine"))).status).toBe("accepted");
      expect(outputOf(await app.get("r").outcome())).toBe(`${steps} mine`);
    });

    test.each(["resume", "record"] as const)("takes no answer to its own token by %s", async (way) => {
      const { on, app, oldToken, newToken } = await reused(place, steps);
      const before = await batchesOf(on);
      expect(await on.world.run(app.resume(oldToken, "an old answer", { drive: way === "resume" }))).toEqual({
        status: "unknown",
        repeated: false,
      });
      expect(await batchesOf(on)).toEqual(before);
      expect(outputOf((await on.world.run(app.resume(newToken, "mine"))).outcome)).toBe(`${steps} mine`);
    });

    test("leaves an answer to the new token to the new run, by deliver", async () => {
      const { on, app, newToken } = await reused(place, steps);
      expect((await on.world.run(app.resume(newToken, "mine", { drive: false }))).status).toBe("accepted");
      expect(outputOf(await on.world.run(app.advance("r")))).toBe(`${steps} mine`);
    });
  },
);
