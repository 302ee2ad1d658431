/** Messages, reports, and answers that are failures, over HTTP. */

import { expect, test } from "vitest";
import { lab, stopped } from "./support/lab.ts";

test("a message is recorded once, and the run goes on with it", async () => {
  const { app, post, get } = lab();
  const run = await app.start("mail", undefined, { id: "m" });
  await stopped(app, "m");
  const send = async (payload: unknown, id: string): Promise<unknown> =>
    (await post("/runs/m/messages/note", { payload, id })).json();
  expect(await send(1, "a")).toEqual({ status: "accepted", repeated: false });
  expect(await send(1, "a")).toEqual({ status: "accepted", repeated: true });
  expect(await send(2, "a")).toMatchObject({ status: "conflict", error: { code: "conflict" } });
  expect(await send("x", "b")).toMatchObject({ status: "invalid", issues: expect.any(String) });
  expect(await send(2, "c")).toEqual({ status: "accepted", repeated: false });
  expect(await run.result()).toEqual([1, 2]);
  expect(await send(3, "d")).toMatchObject({ status: "ended" });
  expect(await (await get("/runs/m/report")).json()).toEqual({
    runId: "m",
    status: "completed",
    report: { waits: true },
  });
});

test("a run that waits for a message says for which, and shows no token", async () => {
  const { app, get } = lab();
  await app.start("mail", undefined, { id: "m" });
  await stopped(app, "m");
  expect(await (await get("/runs/m")).json()).toMatchObject({
    status: "suspended",
    report: { waits: true },
    waiting: [{ key: "note", topic: "note" }],
  });
  const { runs } = (await (await get("/runs")).json()) as { runs: unknown[] };
  expect(runs).toMatchObject([{ runId: "m", report: { waits: true } }]);
});

test("sending and reading reports have actions of their own", async () => {
  const asked: unknown[] = [];
  const { app, post, get } = lab({
    authorize: (_, action) => {
      asked.push(action);
      return action.type === "report";
    },
  });
  await app.start("mail", undefined, { id: "m" });
  expect((await post("/runs/m/messages/note", { payload: 1 })).status).toBe(403);
  expect((await get("/runs/m/report")).status).toBe(200);
  expect((await get("/runs/m")).status).toBe(403);
  expect(asked).toEqual([
    { type: "send", runId: "m", topic: "note" },
    { type: "report", runId: "m" },
    { type: "read", runId: "m" },
  ]);
  const foreign = await post("/runs/m/messages/note", { payload: 1 }, { "sec-fetch-site": "cross-site" });
  expect(foreign.status).toBe(403);
});

test("an answer may be a failure", async () => {
  const { app, post, waiting } = lab();
  const [token] = await waiting("open", "o");
  const bad = [{}, { value: 1, error: { message: "no" } }, { error: "no" }, { error: { name: "E" } }];
  for (const body of bad) expect((await post(`/resume/${token}`, body)).status).toBe(400);
  const error = { message: "declined", name: "Declined", code: "E_NO" };
  expect((await post(`/resume/${token}`, { error, id: "1" })).status).toBe(200);
  await stopped(app, "o");
  expect(await app.get("o").outcome()).toMatchObject({
    status: "failed",
    error: { cause: { name: "Declined", message: "declined", code: "E_NO" } },
  });
});
