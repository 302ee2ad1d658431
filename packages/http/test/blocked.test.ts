/** Runs that cannot continue with the code of this process: what requests show of them. */

import { createApp, durable, MemoryStorage } from "@durable/core";
import { expect, test } from "vitest";
import { lab, labSecret, stopped } from "./support/lab.ts";

const good = durable("flow", async (ctx) => {
  await ctx.step("a", () => "a");
  return ctx.suspend<string>("ok");
});
const bad = durable("flow", async (ctx) => {
  await ctx.sleep("1s", { name: "a" });
  return ctx.suspend<string>("ok");
});

/** Run `r` waits, and the code of the server no longer fits it. */
async function blocked() {
  const storage = new MemoryStorage();
  const right = createApp({ storage, secret: labSecret, workflows: [good] });
  const other = await right.start("flow", undefined, { id: "other" });
  const run = await right.start("flow", undefined, { id: "r" });
  for (const { id } of [other, run]) await stopped(right, id);
  const served = lab({ storage, workflows: [bad] });
  const from = Date.now();
  expect(await served.app.advance("r")).toMatchObject({ status: "blocked" });
  return { ...served, right, from };
}

const reason = { code: "diverged", message: expect.stringContaining('recorded as kind "step"') as string };

test("GET /runs/:id tells why and since when a run is blocked", async () => {
  const { get, from } = await blocked();
  const body = (await (await get("/runs/r")).json()) as { since: number };
  expect(body).toEqual({
    runId: "r",
    status: "blocked",
    state: "blocked",
    error: reason,
    since: expect.any(Number) as number,
    waiting: [expect.objectContaining({ key: "ok" })],
  });
  expect(body.since).toBeGreaterThanOrEqual(from);
  expect(body.since).toBeLessThanOrEqual(Date.now());
});

test("GET /runs tells it, too, and lists blocked runs by their status", async () => {
  const { get } = await blocked();
  const { since } = (await (await get("/runs/r")).json()) as { since: number };
  const listed = async (query: string): Promise<unknown[]> =>
    ((await (await get(`/runs${query}`)).json()) as { runs: unknown[] }).runs;
  expect(await listed("?status=blocked")).toMatchObject([
    { runId: "r", status: "blocked", error: reason, since },
  ]);
  const all = await listed("");
  expect(all).toMatchObject([
    { runId: "r", status: "blocked", error: reason, since },
    { runId: "other", status: "suspended" },
  ]);
  expect(all[1]).not.toHaveProperty("error");
  expect(await listed("?status=suspended")).toMatchObject([{ runId: "other" }]);
});

test("a run that goes on is not blocked any more", async () => {
  const { get, right } = await blocked();
  expect(await right.advance("r")).toMatchObject({ status: "suspended" });
  expect(await (await get("/runs/r")).json()).toMatchObject({ status: "suspended" });
  expect(await (await get("/runs?status=blocked")).json()).toEqual({ runs: [], next: null });
});
