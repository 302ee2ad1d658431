/** What a retry struck stays on every screen; retry is offered only where it is accepted; a clean-up that waits is not work. */

import { join } from "node:path";
import { createApp, durable, FatalError } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { virtualWorld } from "@durable/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { noon, prices, Project } from "./support/lab.ts";

let project: Project;
const price = ["--prices", "prices.json"];

const ask = durable("ask", async (ctx) => {
  await ctx.step("plan", () => "a plan");
  await ctx.step(
    "answer",
    (info) => {
      info.meter({ model: "tide-1", inputTokens: 1_000_000, outputTokens: 0 });
      throw new FatalError("429 too many requests");
    },
    { retry: false },
  );
});

const trip = durable("trip", async (ctx) => {
  await ctx.step("book", () => "seat", { compensate: () => {} });
  await ctx.step("pay", () => Promise.reject(new FatalError("declined")), { retry: false });
});

const waits = durable("waits", (ctx) => {
  ctx.onCancel(() => {});
  return ctx.suspend("ok");
});

beforeAll(async () => {
  project = await Project.withRuns();
  const world = virtualWorld({ start: noon - 3_600_000 });
  const storage = new SqliteStorage({
    path: join(project.folder, ".durable", "journal.db"),
    now: () => world.now(),
  });
  const app = createApp({ storage, world, workflows: [ask, trip, waits] });
  const drive = async (id: string): Promise<unknown> =>
    world.run(
      app
        .get(id)
        .result()
        .catch(() => {}),
    );
  for (const { name } of [ask, trip, waits]) {
    await app.start(name, undefined, { id: `${name}-9` });
    await drive(`${name}-9`);
  }
  await world.advance(60_000);
  await world.run(() => app.get("ask-9").retry());
  await drive("ask-9");
  await storage.close();
});
afterAll(() => project.remove());

test("show has a line for the retry, pale rows, and the whole cost", async () => {
  const { out } = await project.cli(["show", "ask-9", ...price]);
  expect(prices["tide-1"].input).toBe(3);
  expect(out).toContain("3 steps");
  expect(out).toContain("2 failed attempts");
  expect(out).toContain("spent $6.00");
  expect(out).toMatch(/retried at 11:01:00 UTC after .*429 too many requests/);
  expect(out).toMatch(/answer, before the retry of/);
  // Both rows, and the note beside the sum.
  expect(out.match(/\$3\.00/g)).toHaveLength(3);
  expect(out).toContain("($3.00 before the retry)");
  const { run } = (await project.json(["show", "ask-9", ...price])) as { run: { retries: object[] } };
  expect(run.retries).toMatchObject([{ rows: [{ key: "answer", status: "failed" }] }]);
  const { runs } = (await project.json(["ls", "--workflow", "ask"])) as { runs: { steps: number }[] };
  expect(runs).toMatchObject([{ steps: 3 }]);
});

test("show --journal and tail have every entry; struck ones say which retry struck them", async () => {
  const { out } = await project.cli(["show", "ask-9", "--journal"]);
  const seqs = out
    .trim()
    .split("\n")
    .map((line) => Number(line.trim().split(" ")[0]));
  expect(seqs).toEqual(seqs.map((_, index) => index + 1));
  expect(out).toMatch(/step\.failed answer \(struck by entry 5\)/);
  expect((await project.cli(["tail", "ask-9", "--no-follow"])).out).toContain(
    "step.failed answer (struck by a retry)",
  );
});

test("show --step has the step before the retry, too", async () => {
  const { out } = await project.cli(["show", "ask-9", "--step", "answer"]);
  expect(out.match(/attempt 1/g)).toHaveLength(2);
  expect(out).toContain("before the retry of");
});

test("retry is offered where it is accepted, and nowhere else", async () => {
  expect((await project.cli(["show", "ask-9"])).err).toContain("durable retry ask-9");
  expect((await project.cli(["show", "trip-9"])).err).not.toContain("durable retry");
  expect(await project.cli(["retry", "trip-9"])).toMatchObject({ code: 4 });
});

test("a clean-up that has not begun is not drawn as work", async () => {
  const { out } = await project.cli(["show", "waits-9"]);
  const line = out.split("\n").find((each) => each.includes("onCancel")) ?? "";
  expect(line).toContain("○ onCancel");
  expect(line).not.toMatch(/[◐…█]/);
});
