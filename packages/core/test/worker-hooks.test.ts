import { durable } from "@durable/core";
import { faultyStorage } from "@durable/testing";
import { describe, expect, it } from "vitest";
import { lab, type Lab } from "./support/behaviour-lab.ts";
import { unhandled } from "./support/behaviour-unhandled.ts";
import { open } from "./support/worker-lab.ts";
import { numbered, record, statuses } from "./support/worker-runs.ts";

const flow = durable("quick", (ctx) => ctx.step("s", () => ctx.runId));

async function records(base: Lab, count: number): Promise<string[]> {
  const ids = numbered("r", count);
  for (const id of ids) await record(base, id, { workflow: "quick" });
  return ids;
}

describe("onStop", () => {
  it("that throws is a warning, and the runs end", async () => {
    const seen = unhandled();
    const base = lab();
    await records(base, 3);
    const { until } = open(base, [flow], {
      onStop: ({ runId }) => {
        throw new Error(`no ${runId}`);
      },
    });
    await until(3);
    expect(await statuses(base.storage)).toEqual({ completed: 3 });
    expect(base.world.warnings.toSorted()).toEqual([
      "onStop threw for run r-0: Error: no r-0",
      "onStop threw for run r-1: Error: no r-1",
      "onStop threw for run r-2: Error: no r-2",
    ]);
    expect(await seen()).toEqual([]);
  });
});

describe("onDrive", () => {
  it.each<[string, () => Promise<void>]>([
    [
      "throws",
      () => {
        throw new Error("no drive");
      },
    ],
    ["rejects", () => Promise.reject(new Error("no drive"))],
  ])("that %s leaves its run alone for a minute, and takes the others", async (_, refuse) => {
    const seen = unhandled();
    const base = lab();
    await records(base, 3);
    let refuses = true;
    const { until, heard } = open(base, [flow], {
      onDrive: (runId, drive) => (runId === "r-1" && refuses ? refuse() : drive()),
    });
    await until(2);
    refuses = false;
    expect(await statuses(base.storage)).toEqual({ completed: 2, running: 1 });
    expect(base.world.warnings).toEqual(["run r-1 is skipped for a minute: Error: no drive"]);
    await base.world.advance(61_000);
    await until(3);
    expect(heard.map(({ runId }) => runId).toSorted()).toEqual(["r-0", "r-1", "r-2"]);
    expect(await seen()).toEqual([]);
  });

  it("that does not call its drive is reported", async () => {
    const base = lab();
    await records(base, 2);
    const { until } = open(base, [flow], {
      onDrive: async (runId, drive) => (runId === "r-0" ? undefined : drive()),
    });
    await until(1);
    expect(base.world.warnings).toEqual([
      expect.stringMatching(/^run r-0 is skipped .*onDrive did not call/),
    ]);
  });

  it("that does not await its drive leaves no rejection behind when that fails", async () => {
    const seen = unhandled();
    const base = lab();
    await records(base, 1);
    const storage = faultyStorage(base.storage, {
      world: base.world,
      plan: (operation) => (operation === "lease" ? "lose-request" : null),
    });
    open(base, [flow], {
      storage,
      onDrive: async (_, drive) => {
        void drive();
      },
    });
    await base.world.advance(10_000);
    expect(await seen()).toEqual([]);
    expect(await statuses(base.storage)).toEqual({ running: 1 });
  });
});
