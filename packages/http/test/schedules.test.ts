import { expect, test } from "vitest";
import { lab, stopped } from "./support/lab.ts";
import { defineDaily, remove } from "./support/schedules.ts";

async function reply(response: Promise<Response>): Promise<[number, unknown]> {
  const given = await response;
  return [given.status, await given.json()];
}

test("schedules are listed and read, with their next ticks", async () => {
  const the = lab();
  await defineDaily(the);
  const daily = {
    name: "daily",
    workflow: "echo",
    cron: "0 9 * * *",
    timezone: "Europe/Paris",
    paused: false,
  };
  expect(await reply(the.get("/schedules"))).toMatchObject([200, { schedules: [daily], next: null }]);
  expect(await reply(the.get("/schedules?workflow=review"))).toEqual([200, { schedules: [], next: null }]);
  expect(await reply(the.get("/schedules?cursor=daily"))).toEqual([200, { schedules: [], next: null }]);
  const [status, body] = await reply(the.get("/schedules/daily"));
  expect([status, body]).toMatchObject([200, daily]);
  expect((body as { next: number[] }).next).toHaveLength(5);
  expect(JSON.stringify(body)).not.toContain("morning");
  expect(await reply(the.get("/schedules/none"))).toMatchObject([404, { error: { code: "not-found" } }]);
});

test("schedules are paused, resumed, triggered and deleted", async () => {
  const the = lab();
  await defineDaily(the);
  expect(await reply(the.post("/schedules/daily/pause"))).toMatchObject([
    200,
    { paused: true, nextAt: null },
  ]);
  expect(await reply(the.get("/schedules/daily"))).toMatchObject([200, { paused: true, next: [] }]);
  expect(await reply(the.post("/schedules/daily/unpause"))).toMatchObject([200, { paused: false }]);
  const triggered = await the.post("/schedules/daily/trigger");
  const { runId, repeated } = (await triggered.json()) as { runId: string; repeated: boolean };
  expect([triggered.status, triggered.headers.get("location"), repeated]).toEqual([
    202,
    `/runs/${runId}`,
    false,
  ]);
  await the.app.sweep();
  await stopped(the.app, runId);
  expect(await the.app.get(runId).result()).toBe("morning");
  expect(await reply(remove(the, "daily"))).toEqual([200, { name: "daily", deleted: true }]);
  expect(await reply(remove(the, "daily"))).toMatchObject([404, { error: { code: "not-found" } }]);
  expect(await reply(the.post("/schedules/daily/pause"))).toMatchObject([
    404,
    { error: { code: "not-found" } },
  ]);
});

test("a body with members, a wrong name and a wrong query are refused", async () => {
  const the = lab();
  await defineDaily(the);
  expect((await the.post("/schedules/daily/pause", { at: 1 })).status).toBe(400);
  expect((await the.get("/schedules/a%20b")).status).toBe(400);
  expect((await the.get("/schedules?limit=0")).status).toBe(400);
  expect((await the.post("/schedules/daily")).status).toBe(405);
  expect((await the.app.schedules.get("daily")).paused).toBe(false);
});
