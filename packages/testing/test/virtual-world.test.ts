import { virtualWorld } from "@durable/testing";
import { expect, test } from "vitest";

test("a world waits for real work that no timer of its own speaks of, as threads do", async () => {
  const world = virtualWorld();
  const started = world.now();
  const late = new Promise<string>((resolve) => setTimeout(resolve, 300, "late"));
  expect(await world.run(late)).toBe("late");
  expect(world.now()).toBe(started);
});

test("and gives up a promise that nothing can settle", async () => {
  await expect(virtualWorld().run(new Promise(() => {}))).rejects.toThrow(
    "Nothing is left that could settle",
  );
});
