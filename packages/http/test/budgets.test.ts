/** A budget that asks is raised, or ended, where waits are answered. */

import { durable } from "@durable/core";
import { expect, test } from "vitest";
import { lab } from "./support/lab.ts";

const prices = { m: { input: 1_000_000, output: 0 } };

const research = durable(
  "research",
  async (ctx) => {
    for (const topic of ["tides", "winds", "waves"])
      await ctx.step(topic, ({ meter }) => meter({ model: "m", inputTokens: 2, outputTokens: 0 }));
    return "read";
  },
  { budget: 4 },
);

test("an answer raises the budget, and the question says what was spent", async () => {
  const { app, post, get, waiting } = lab({ workflows: [research], prices });
  const [token] = await waiting("research", "one");
  const run = await (await get("/runs/one")).text();
  expect(run).toContain('"spent":4,"most":4');
  expect(run).toContain("The run has spent 4 of its budget of 4.");
  const wrong = await post(`/resume/${token}`, { value: "yes" });
  expect([wrong.status, JSON.stringify(await wrong.json())]).toEqual([
    422,
    expect.stringContaining("Answer { more: 5 }; { more: 0 } ends the run."),
  ]);
  expect((await post(`/resume/${token}`, { value: { more: 3 } })).status).toBe(200);
  expect(await app.get("one").result()).toBe("read");
});

test("an answer of 0 ends the run, with its sums", async () => {
  const { app, post, waiting } = lab({ workflows: [research], prices });
  const [token] = await waiting("research", "one");
  expect((await post(`/resume/${token}`, { value: { more: 0 } })).status).toBe(200);
  await expect(app.get("one").result()).rejects.toMatchObject({
    code: "over-budget",
    details: { spent: 4, most: 4, next: 0, by: [{ cost: 2 }, { cost: 2 }] },
  });
});
