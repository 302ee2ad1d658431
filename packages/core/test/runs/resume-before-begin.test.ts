import { createApp, durable } from "@durable/core";
import { expect, test } from "vitest";
import { lab, noticingLab, tokenOf } from "../support/behaviour-lab.ts";

const flowOf = (ran: string[], options: object = {}) =>
  durable(
    "job",
    async (ctx) => {
      await ctx.step("first", () => void ran.push(ctx.runId));
      return ctx.suspend<string>("go");
    },
    options,
  );

/** The token of the wait of run `r`, which does not depend on the storage. */
async function tokenAhead(): Promise<string> {
  const base = lab();
  const app = createApp({ ...base, patience: 0, workflows: [flowOf([])] });
  await app.start("job", undefined, { id: "r", drive: false });
  return tokenOf(await base.world.run(app.advance("r")));
}

test("an early answer by resume does not begin a delayed run before its time", async () => {
  const base = noticingLab();
  const ran: string[] = [];
  const app = createApp({ ...base, patience: 0, workflows: [flowOf(ran)] });
  await app.start("job", undefined, { id: "r", drive: false, delay: "1 hour" });
  expect(await base.world.run(app.resume(await tokenAhead(), "yes"))).toMatchObject({ status: "accepted" });
  expect(ran).toEqual([]);
});

test("an early answer by resume does not begin a run without a turn of its rate", async () => {
  const base = noticingLab();
  const ran: string[] = [];
  const app = createApp({
    ...base,
    patience: 0,
    workflows: [flowOf(ran, { rate: { max: 1, per: "10 minutes" } })],
  });
  await app.start("job", undefined, { id: "a", drive: false });
  await base.world.run(app.advance("a"));
  await app.start("job", undefined, { id: "r", drive: false });
  expect(await base.world.run(app.resume(await tokenAhead(), "yes"))).toMatchObject({ status: "accepted" });
  expect(ran).toEqual(["a"]);
});
