import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { durable, FatalError } from "@durable/core";
import { SqliteStorage } from "@durable/core/sqlite";
import { virtualWorld } from "@durable/testing";
import { Project } from "./support/lab.ts";

/** Runs of less usual shapes: streams, children, races, maps, nested branches, chapters. */
const project = new Project();
afterAll(() => project.remove());

beforeAll(async () => {
  const world = virtualWorld({ start: Date.UTC(2026, 0, 1, 8) });
  const pause = (ms: number) => new Promise<void>((resolve) => void world.timer(ms, resolve));
  const storage = new SqliteStorage({ path: join(project.folder, "shapes.db"), now: () => world.now() });
  const options = { storage, world };
  const appraise = durable(
    "appraise",
    async (ctx, house: string) => {
      await ctx.step("visit", () => pause(2_000));
      if (house === "ruin") throw new FatalError("it has no roof");
      return 300_000;
    },
    options,
  );
  const shapes = durable(
    "shapes",
    async (ctx) => {
      await ctx.stream("answer", async function* () {
        await pause(700);
        yield "Tides ";
        await pause(1_500);
        yield "rise.";
      });
      await ctx.race({
        fast: (branch) => branch.step("guess", () => pause(500)),
        slow: (branch) => branch.step("think", () => pause(60_000)),
        person: (branch) => branch.suspend("ask"),
      });
      await ctx.map(["moon", "sun"], async (branch, name) => {
        await branch.step("read", () => pause(name.length * 300));
        await branch.parallel([(inner) => inner.step("deep", () => pause(400))]);
      });
      await ctx.parallel(
        {
          house: (branch) => branch.child(appraise, "house"),
          ruin: (branch) => branch.child(appraise, "ruin"),
        },
        { mode: "settled" },
      );
    },
    options,
  );
  const counter = durable(
    "counter",
    async (ctx, round: number): Promise<number> => {
      await ctx.step("count", () => pause(100));
      return round < 3 ? ctx.continueAs(round + 1) : round;
    },
    options,
  );
  await world.run(() => shapes.run(undefined, { id: "shapes" }));
  await world.run(() => counter.run(1, { id: "counter" }));
  await storage.close();
});

test.each([
  ["shapes", ["show", "shapes"]],
  ["shapes-tree", ["tree", "shapes"]],
  ["shapes-chapter", ["show", "counter"]],
  ["shapes-first-chapter", ["show", "counter", "--chapter", "1"]],
])("%s", async (name, args) => {
  const { out, code } = await project.cli([...args, "-s", "shapes.db", "-q"]);
  expect(code).toBe(0);
  await expect(out).toMatchFileSnapshot(`screens/${name}.txt`);
});
