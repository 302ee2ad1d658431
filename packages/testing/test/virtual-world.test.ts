import { virtualWorld } from "@durable/testing";
import { expect, test } from "vitest";

test("a world waits for real work without a virtual timer, such as work in threads", async () => {
  const world = virtualWorld();
  const started = world.now();
  const late = new Promise<string>((resolve) => setTimeout(resolve, 300, "late"));
  expect(await world.run(late)).toBe("late");
  expect(world.now()).toBe(started);
});

test("a world gives up a promise that nothing can settle", async () => {
  await expect(virtualWorld().run(new Promise(() => {}))).rejects.toThrow(
    "Nothing is left that could settle",
  );
});
