import { createApp, createWorker, durable, DurableError, Journal, type Storage } from "@durable/core";
import { describe, expect, test } from "vitest";
import { lab, outputOf, pause, tokenOf, type Lab } from "../support/behaviour-lab.ts";
import { silent } from "../support/behaviour-lives.ts";
import { slow } from "../support/worker-lab.ts";
import { numbered, record, statuses } from "../support/worker-runs.ts";

/** A storage that answers 503 to everything for a while, and notes when it was asked. */
function failing({ storage, world }: Lab, from: number, to: number) {
  const asked: number[] = [];
  const gate = <T>(apply: () => Promise<T>): Promise<T> => {
    const now = world.now();
    if (now < from || now >= to) return apply();
    asked.push(now);
    return Promise.reject(new DurableError("storage-failed", "503 Service Unavailable"));
  };
  const gated: Storage = {
    append: (request) => gate(() => storage.append(request)),
    read: (locator, position) => gate(() => storage.read(locator, position)),
    list: (query) => gate(() => storage.list(query)),
    lease: (locator, owner, ttlMs) => gate(() => storage.lease(locator, owner, ttlMs)),
    release: (locator, owner, quietMs) => gate(() => storage.release(locator, owner, quietMs)),
    delete: (locator) => gate(() => storage.delete(locator)),
  };
  return { gated, asked };
}

const minute = 60_000;
const runs = 100;

test("H60 ten minutes without storage under 100 live runs: few tries, spread out, and all recover in two minutes", async () => {
  const on = lab();
  const { flow, ran } = slow(on.world, 20_000);
  const ids = numbered("r", runs);
  for (const id of ids) await record(on, id, { workflow: "slow", input: id });
  const from = on.world.now() + 30_000;
  const heal = from + 10 * minute;
  const { gated, asked } = failing(on, from, heal);
  for (let n = 0; n < 4; n++)
    createWorker(createApp({ ...on, storage: gated, workflows: [flow] }), {
      concurrency: runs,
      interval: "1s",
    });
  await on.world.advance(heal - 1 - on.world.now());
  expect(ran.length, "all were in the middle of their second step").toBe(runs * 2);
  const during = ran.length;

  // A drive gives up after a dozen tries of each kind; then only the four workers ask, once a second.
  const polls = 4 * 600;
  expect(asked.length - polls).toBeLessThan(runs * 40);
  // All bodies ended in one millisecond; two seconds later no millisecond sees many of them any more.
  const later = asked.filter((at) => at > from + 12_000);
  const busiest = Math.max(...Array.from(Map.groupBy(later, (at) => at).values(), (all) => all.length));
  expect(busiest).toBeLessThan(runs / 4);

  await on.world.advance(2 * minute);
  expect((await statuses(on.storage))["completed"], "two minutes after it healed").toBe(runs);
  const repeated = ran.length - runs * 3;
  expect(repeated, "what could not be written down ran once more, no more than that").toBeLessThanOrEqual(
    runs,
  );
  expect(ran.length).toBeGreaterThan(during);
  expect(
    ran.every((line) => line.endsWith(" 1")),
    "an outage is no failed attempt",
  ).toBe(true);
});

/** One step that takes ten seconds, and notes when it began. */
function tenSeconds({ world }: Lab) {
  const bodies: number[] = [];
  const flow = durable("long", (ctx) =>
    ctx.step("work", async () => {
      bodies.push(world.now());
      await pause(world, 10_000);
      return "done";
    }),
  );
  return { flow, bodies };
}

test("H60 a storage that cannot say any more when a journal grows is polled: no drive ends of it", async () => {
  const on = lab();
  const { flow, bodies } = tenSeconds(on);
  const changed = (): Promise<void> => Promise.reject(new Error("the connection that listens was lost"));
  const storage: Storage = { ...silent(on), changed };
  const outcome = await on.world.run(flow.with({ ...on, storage }).run(undefined, { id: "r" }));
  expect(outputOf(outcome)).toBe("done");
  expect(bodies).toHaveLength(1);
});

test.each(["storage-busy", "storage-failed", "storage-full"] as const)(
  "H60 a driver that only looks, and is told %s, looks again: the work under way is not lost",
  async (code) => {
    const on = lab();
    const { flow, bodies } = tenSeconds(on);
    let refused = 0;
    const storage: Storage = {
      ...silent(on),
      read: (locator, from = 0) => {
        if (from === 0 || ++refused > 3) return on.storage.read(locator, from);
        return Promise.reject(new DurableError(code, "Not now."));
      },
    };
    const outcome = await on.world.run(flow.with({ ...on, storage }).run(undefined, { id: "r" }));
    expect(outputOf(outcome)).toBe("done");
    expect(bodies).toHaveLength(1);
    expect(refused).toBeGreaterThan(3);
  },
);

/** A storage whose appends are refused with that code from now on, and counted. */
function refusing({ storage, world }: Lab, code: "storage-full" | "storage-busy") {
  const tries: number[] = [];
  const append = (): Promise<never> => {
    tries.push(world.now());
    return Promise.reject(new DurableError(code, "Not now."));
  };
  return { tries, refused: { ...silent({ storage, world } as Lab), append } as Storage };
}

/** How long a call took until it failed, in virtual time, and with which code. */
async function failedAfter({ world }: Lab, call: () => Promise<unknown>): Promise<[unknown, number]> {
  const started = world.now();
  const code = await world.run(
    call().then(
      () => "no failure",
      (error: unknown) => (DurableError.is(error) ? error.code : error),
    ),
  );
  return [code, world.now() - started];
}

describe("H73 a full disk", () => {
  const flow = durable("wait", async (ctx) => [await ctx.suspend("ok"), await ctx.step("after", () => 1)]);
  const calls: Record<string, (on: Lab, storage: Storage, token: string) => Promise<unknown>> = {
    run: (on, storage) => flow.with({ ...on, storage }).run(undefined, { id: "new" }),
    start: (on, storage) => flow.with({ ...on, storage }).start(undefined, { id: "new" }),
    resume: (on, storage, token) => flow.with({ ...on, storage }).resume(token, 1),
    recordAnswer: (on, storage, token) =>
      createApp({ ...on, storage, workflows: [flow] }).resume(token, 1, { drive: false }),
    cancel: (on, storage) => flow.with({ ...on, storage }).cancel("r"),
    fork: (on, storage) => flow.with({ ...on, storage }).fork("r", { from: "ok" }),
    record: async (on, storage) => (await Journal.open("j", { ...on, storage })).record("k", () => 1),
  };

  test.each(Object.entries(calls))("is reported by %s within two seconds", async (_, call) => {
    const on = lab();
    const token = tokenOf(await on.world.run(flow.with({ ...on }).run(undefined, { id: "r" })));
    const { tries, refused } = refusing(on, "storage-full");
    const [code, ms] = await failedAfter(on, () => call(on, refused, token));
    expect(code).toBe("storage-full");
    expect(ms).toBeLessThan(2_000);
    expect(ms, "but space may be freed at once").toBeGreaterThan(500);
    expect(tries.length).toBeGreaterThan(3);
    expect(tries.length).toBeLessThan(8);
  });

  test("is reported by a run within two seconds of the step that could not be recorded, which runs again later", async () => {
    const on = lab();
    const { flow: long, bodies } = tenSeconds(on);
    let full = false;
    const storage: Storage = {
      ...silent(on),
      append: (request) =>
        full ? Promise.reject(new DurableError("storage-full", "Full.")) : on.storage.append(request),
    };
    void on.world.timer(9_000, () => (full = true));
    const bound = long.with({ ...on, storage });
    const [code, ms] = await failedAfter(on, () => bound.run(undefined, { id: "r" }));
    expect([code, bodies.length]).toEqual(["storage-full", 1]);
    expect(ms).toBeLessThan(12_000);
    full = false;
    expect(outputOf(await on.world.run(bound.run(undefined, { id: "r" })))).toBe("done");
  });

  test("other outages are waited for as long as before", async () => {
    const on = lab();
    const { tries, refused } = refusing(on, "storage-busy");
    const [code, ms] = await failedAfter(on, () => flow.with({ ...on, storage: refused }).run());
    expect([code, tries.length]).toEqual(["storage-busy", 12]);
    expect(ms).toBeGreaterThan(10_000);
  });
});
