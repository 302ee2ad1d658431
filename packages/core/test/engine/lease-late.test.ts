/** A renewal that is under way when a drive ends. */

import { createApp, durable, type Storage, type World } from "@durable/core";
import type { StorageLimits } from "@durable/core/storage";
import type { VirtualWorld } from "@durable/testing";
import { expect, test } from "vitest";
import { lab, pause, type Lab } from "../support/behaviour-lab.ts";

/** Limits whose changes wait for `before`. */
function replacedLimits(base: Lab, { before }: { before: () => Promise<void> }): StorageLimits {
  const limits = base.storage.limits as StorageLimits;
  return {
    slots: () => limits.slots(),
    read: (name) => limits.read(name),
    texts: (prefix) => limits.texts(prefix),
    swap: (...given) => before().then(() => limits.swap(...given)),
  };
}

/** A storage whose methods may be replaced. */
function replaced(base: Lab, more: Partial<Storage>): Storage {
  return new Proxy(base.storage, {
    get(target, name) {
      const value: unknown = Reflect.get(more, name) ?? Reflect.get(target, name, target);
      return typeof value === "function" && !(name in more) ? (value.bind(target) as unknown) : value;
    },
  });
}

const isFree = async (base: Lab): Promise<boolean> => {
  const { locator } = (await base.storage.list()).runs[0]!;
  return (await base.storage.lease(locator, "another", 1_000)) !== null;
};

const job = (base: Lab) =>
  durable("job", async (ctx) => {
    await ctx.step("work", () => pause(base.world, 25_000));
    return ctx.suspend("go");
  });

test("a renewal that arrives after the run has parked does not keep others from it", async () => {
  const base = lab();
  let leases = 0;
  const storage = replaced(base, {
    // The first request for the lease, which is a renewal, arrives after the run has parked.
    lease: async (...given) => {
      if (++leases === 1) await pause(base.world, 15_000);
      return base.storage.lease(...given);
    },
  });
  await createApp({ ...base, storage, workflows: [job(base)] }).start("job", undefined, { id: "r" });
  await base.world.advance(36_000);
  expect(leases).toBe(1);
  expect(await isFree(base)).toBe(true);
});

test("nor does one that arrives between the last append and its reply", async () => {
  const base = lab();
  let leases = 0;
  const storage = replaced(base, {
    lease: async (...given) => {
      if (++leases === 1) await pause(base.world, 16_000);
      return base.storage.lease(...given);
    },
    append: async (request) => {
      await base.storage.append(request);
      // The reply of what parks the run comes after that of the renewal.
      if (request.batch.includes("run.suspended")) await pause(base.world, 20_000);
    },
  });
  await createApp({ ...base, storage, workflows: [job(base)] }).start("job", undefined, { id: "r" });
  await base.world.advance(50_000);
  expect(leases).toBe(1);
  expect(await isFree(base)).toBe(true);
});

test("a driver that gets its lease again starts nothing before it has read what another one recorded", async () => {
  const base = lab();
  const { world } = base;
  const begun = world.now();
  const until = (at: number): Promise<void> => pause(world, Math.max(0, begun + at - world.now()));
  // Frozen for 40 s. Then it renews its lease, gets a permit, and last the reply to what it reads.
  const frozen: World = {
    ...world,
    timer: (ms, fire) => world.timer(ms < 1_000 ? ms : Math.max(ms, begun + 40_000 - world.now()), fire),
  };
  const storage = replaced(base, {
    read: async (...given) => {
      if (world.now() > begun + 1_000) await until(60_000);
      return base.storage.read(...given);
    },
    changed: () => new Promise(() => {}),
    limits: replacedLimits(base, { before: () => until(45_000) }),
  });
  const ran: string[] = [];
  const appOf = (name: string, more: Partial<Lab>) => {
    const job = durable("job", (ctx) => ctx.step("work", () => void ran.push(name), { quota: "api" }));
    return createApp({ ...base, ...more, workflows: [job], quotas: { api: { requests: 10 } } });
  };
  await appOf("first", { storage, world: frozen as VirtualWorld }).start("job", undefined, { id: "r" });
  await world.advance(32_000);
  expect((await appOf("second", {}).advance("r")).status).toBe("completed");
  await world.advance(60_000);
  expect(ran).toEqual(["second"]);
});

test("a driver whose run was deleted meanwhile does not keep the lease of the next run of that id", async () => {
  const base = lab();
  const { world } = base;
  const begun = world.now();
  const frozen = {
    ...world,
    timer: (ms, fire) => world.timer(ms < 1_000 ? ms : Math.max(ms, begun + 40_000 - world.now()), fire),
  } satisfies World;
  const appOf = (works: boolean, more: Partial<Lab>) => {
    const flow = durable("job", async (ctx) => {
      if (works) await ctx.step("work", () => pause(world, 200_000));
      await ctx.step("before", () => 1);
      return ctx.suspend("go");
    });
    return createApp({ ...base, ...more, workflows: [flow] });
  };
  const storage = replaced(base, { changed: () => new Promise(() => {}) });
  await appOf(true, { storage, world: frozen }).start("job", undefined, { id: "r" });
  await world.advance(32_000);
  const next = appOf(false, {});
  await next.delete("r");
  await next.start("job", undefined, { id: "r" });
  await world.advance(13_000);
  expect(await isFree(base)).toBe(true);
});

test("a driver that wakes up after its run has ended elsewhere keeps no lease of it", async () => {
  const base = lab();
  const { world } = base;
  const begun = world.now();
  const frozen = {
    ...world,
    timer: (ms, fire) => world.timer(ms < 1_000 ? ms : Math.max(ms, begun + 40_000 - world.now()), fire),
  } satisfies World;
  const appOf = (ms: number, more: Partial<Lab>) => {
    const flow = durable("job", (ctx) => ctx.step("work", () => pause(world, ms)));
    return createApp({ ...base, ...more, workflows: [flow] });
  };
  const storage = replaced(base, { changed: () => new Promise(() => {}) });
  await appOf(200_000, { storage, world: frozen }).start("job", undefined, { id: "r" });
  await world.advance(32_000);
  expect((await world.run(appOf(10, {}).advance("r"))).status).toBe("completed");
  // The first driver renews its lease, which nobody has.
  await world.advance(13_000);
  expect((await base.storage.list()).runs[0]).toMatchObject({ status: "completed" });
  expect(await isFree(base)).toBe(true);
});

test.each(["is lost, and sent again", "is done later"])(
  "a lease that is taken again stays when the request that gave it back before %s (lease.5)",
  async (fate) => {
    const base = lab();
    const { world } = base;
    const job = durable("job", (ctx) => ctx.step("work", () => pause(world, 25_000)), {
      rate: { max: 1, per: "1 minute" },
    });
    const other = createApp({ ...base, workflows: [job] });
    await other.start("job", undefined, { id: "r", drive: false });
    let [queued, releases] = [0, 0];
    const storage = replaced(base, {
      // A message comes first, so the lease is given back and taken again.
      append: async (request) => {
        if (request.batch.includes("run.queued") && ++queued === 1) await other.send("r", "news", 1);
        return base.storage.append(request);
      },
      release: async (...given) => {
        if (++releases > 1) return base.storage.release(...given);
        if (fate === "is done later") world.timer(3_000, () => void base.storage.release(...given));
        throw new Error("no reply");
      },
    });
    const driven = createApp({ ...base, storage, workflows: [job], bind: false }).advance("r");
    await world.advance(10_000);
    expect([queued, releases > 0, await isFree(base)]).toEqual([2, true, false]);
    expect(await world.run(driven)).toMatchObject({ status: "completed" });
  },
);
