/** A worker beside a storage that fails for a while, or does not reply. */

import { durable, DurableError, type Storage } from "@durable/core";
import { describe, expect, test } from "vitest";
import { lab, pause, type Lab } from "./support/behaviour-lab.ts";
import { open } from "./support/worker-lab.ts";
import { numbered, record } from "./support/worker-runs.ts";

/** A storage whose methods may be replaced. */
function replaced(base: Lab, more: Partial<Storage>): Storage {
  return new Proxy(base.storage, {
    get(target, name) {
      const value: unknown = Reflect.get(more, name) ?? Reflect.get(target, name, target);
      return typeof value === "function" && !(name in more) ? (value.bind(target) as unknown) : value;
    },
  });
}

const quick = durable("quick", (ctx, input: string) => ctx.step("s", () => input));

/** Everything but claims and lists fails until a time. */
function outage(base: Lab, code: "storage-busy" | "storage-full", heal: number): Storage {
  const fail =
    <Args extends unknown[], Reply>(name: string, call: (...args: Args) => Promise<Reply>) =>
    (...args: Args): Promise<Reply> =>
      base.world.now() < heal ? Promise.reject(new DurableError(code, `no ${name}`)) : call(...args);
  const { storage } = base;
  return replaced(base, {
    append: fail("append", (request) => storage.append(request)),
    read: fail("read", (...given) => storage.read(...given)),
    lease: fail("lease", (...given) => storage.lease(...given)),
    release: fail("release", (...given) => storage.release(...given)),
  });
}

describe("faults of the storage", () => {
  test.each(["storage-busy", "storage-full"] as const)(
    "%s: runs are done within 10 s after it, and it is said once",
    async (code) => {
      const base = lab();
      for (const id of numbered("r", 30)) await record(base, id, { workflow: "quick", input: id });
      const heal = base.world.now() + 24_000;
      const { heard, until } = open(base, [quick], { storage: outage(base, code, heal) });
      await until(30);
      expect(base.world.now() - heal).toBeLessThan(10_000);
      expect(heard.every(({ status }) => status === "completed")).toBe(true);
      expect(base.world.warnings).toEqual([
        expect.stringMatching(
          /^the storage failed while run r-\d+ was driven.*takes runs more slowly.*no lease/,
        ),
      ]);
    },
  );

  test("a lease that could not be given back is given back later, and not left to its end", async () => {
    const base = lab();
    await record(base, "r", { workflow: "quick", input: "x" });
    const from = base.world.now();
    const { storage } = base;
    const fails = (): boolean => base.world.now() - from < 60_000;
    // The lease is taken, and then nothing works for a minute.
    const failing = replaced(base, {
      read: (...given) =>
        fails() ? Promise.reject(new DurableError("storage-busy", "no read")) : storage.read(...given),
      release: (...given) =>
        fails() ? Promise.reject(new DurableError("storage-busy", "no release")) : storage.release(...given),
    });
    const { until } = open(base, [quick], { storage: failing });
    await until(1);
    expect(base.world.now() - from - 60_000).toBeLessThan(10_000);
  });

  test("a worker whose storage fails leaves runs to one that is healthy", async () => {
    const base = lab();
    const sick = open(base, [quick], { storage: outage(base, "storage-busy", Infinity) });
    for (const id of numbered("r", 10)) await record(base, id, { workflow: "quick", input: id });
    await base.world.advance(1_000);
    const from = base.world.now();
    const { until } = open(base, [quick]);
    await until(10);
    expect(base.world.now() - from).toBeLessThan(10_000);
    expect(sick.heard).toEqual([]);
  });

  test("a storage that does not reply for a lease is said, and that it replies again", async () => {
    const base = lab();
    await record(base, "r", { workflow: "slow", input: "x" });
    const slow = durable("slow", (ctx) => ctx.step("s", () => pause(base.world, 300_000).then(() => 1)));
    const begun = base.world.now();
    const silent = (): boolean => base.world.now() > begun + 5_000 && base.world.now() < begun + 200_000;
    const { storage } = base;
    const hangs =
      <Args extends unknown[], Reply>(call: (...args: Args) => Promise<Reply>) =>
      async (...args: Args): Promise<Reply> => {
        if (silent()) await pause(base.world, begun + 200_000 - base.world.now());
        return call(...args);
      };
    const hanging = replaced(base, {
      append: hangs((request) => storage.append(request)),
      list: hangs((query) => storage.list(query)),
      lease: hangs((...given) => storage.lease(...given)),
      claim: hangs((request) => storage.claim!(request)),
    });
    const { worker, until } = open(base, [slow], { storage: hanging, concurrency: 1 });
    await base.world.advance(180_000);
    expect(base.world.warnings).toEqual([
      expect.stringMatching(/^no call to the storage has ended for 30 s/),
    ]);
    await until(1);
    expect(base.world.warnings[1]).toMatch(/^the storage replies again/);
    await base.world.run(worker.stop());
  });
});
