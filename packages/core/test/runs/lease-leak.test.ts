import { createApp, durable, type Storage } from "@durable/core";
import { expect, test } from "vitest";
import { lab, outputOf, pause, tokenOf } from "../support/behaviour-lab.ts";
import type { Flow } from "../support/behaviour-lives.ts";
import { open } from "../support/worker-lab.ts";

test("a run in memory that goes on by itself, and finds its journal moved, does not keep the lease", async () => {
  const on = lab();
  const start = on.world.now();
  const flow = (foreign: boolean): Flow =>
    durable("asks", async (ctx) => {
      // Ends after the run has parked, and makes a call then.
      if (foreign) void pause(on.world, 10_000).then(() => ctx.step("extra", () => 1));
      return Promise.all([ctx.suspend("ok"), ctx.suspend("more", { timeout: "11s", fallback: "late" })]);
    });
  const here = createApp({ ...on, workflows: [flow(true)], warm: 10, patience: 0 });
  await here.start("asks", undefined, { id: "r" });
  await on.world.advance(5_000);
  // Another process drives the run on, and parks it again.
  const there = createApp({ ...on, workflows: [flow(false)], patience: 0 });
  await there.resume(tokenOf(await there.get("r").outcome(), "ok"), "yes", { drive: false });
  expect(await on.world.run(there.advance("r"))).toMatchObject({ status: "suspended" });
  await on.world.advance(start + 10_500 - on.world.now());
  const { heard, until } = open(on, [flow(false)], { interval: 100 });
  await until(1);
  expect(heard.map(outputOf)).toEqual([["yes", "late"]]);
  expect(on.world.now() - start).toBeLessThan(12_000);
});

test("a run that goes on by itself waits until the drive before has given its lease back", async () => {
  const on = lab();
  const seen: string[] = [];
  const flow = (foreign: boolean): Flow =>
    durable("asks", async (ctx) => {
      // Ends while the lease is given back, and makes a call then.
      if (foreign) void pause(on.world, 10).then(() => ctx.step("extra", () => void seen.push("work")));
      return ctx.suspend("ok");
    });
  await createApp({ ...on, workflows: [flow(false)] }).start("asks", undefined, { id: "r" });
  await on.world.advance(1_000);
  const slow = Object.create(on.storage) as Storage;
  for (const name of ["append", "read", "readChapter", "list", "lease", "changed", "paused"] as const)
    Object.assign(slow, { [name]: (on.storage[name] as () => never).bind(on.storage) });
  slow.release = async (...given) => {
    await pause(on.world, 100);
    seen.push("released");
    return on.storage.release(...given);
  };
  const here = createApp({ ...on, storage: slow, workflows: [flow(true)], warm: 10 });
  expect(await on.world.run(here.advance("r"))).toMatchObject({ status: "suspended" });
  await on.world.advance(1_000);
  expect(seen.slice(0, 2)).toEqual(["released", "work"]);
});
