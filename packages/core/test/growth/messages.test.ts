import { durable } from "@durable/core";
import { afterEach, expect, inject, test, vi } from "vitest";
import { countedJson, countedLab, type Work } from "./support/counted-lab.ts";

afterEach(() => vi.unstubAllGlobals());

const reader = durable("reader", async (ctx, count: number) => {
  let sum = 0;
  for (let i = 0; i < count; i++) sum += await ctx.receive<number>("add");
  return sum;
});

/** How a process sends its messages. */
interface Sends {
  readonly count: number;
  /** Messages have ids. */
  readonly named?: boolean;
  /** The run is advanced by another process after every so many messages. */
  readonly readEvery?: number;
}

/** The work of the sender for each of its messages. */
async function sent({ count, named = false, readEvery = 10 }: Sends): Promise<Work[]> {
  const { json, decoded } = countedJson();
  vi.stubGlobal("JSON", json);
  const lab = countedLab(decoded);
  const workflows = [reader];
  const driver = lab.process({ workflows, warm: 1 });
  await driver.run(() => driver.app.start("reader", count + 1, { id: "r" }));
  const sender = lab.process({ workflows, warm: 1 });
  const works: Work[] = [];
  for (let i = 0; i < count; i++) {
    const work = await sender.workOf(async () => {
      const options = named ? { id: `m${i}` } : {};
      expect(await sender.app.send("r", "add", 1, options)).toEqual({ status: "accepted", repeated: false });
    });
    works.push(work);
    if (i % readEvery === readEvery - 1) await driver.run(() => driver.app.advance("r"));
  }
  const read = (await driver.run(() => driver.app.get("r").entries())).filter(
    ({ kind }) => kind === "suspend.resolved",
  );
  expect(read.length).toBeGreaterThan(count - readEvery);
  return works;
}

function most(works: readonly Work[], field: "fetched" | "decoded" | "written" | "batches"): number {
  return Math.max(...works.map((work) => work[field]));
}

const count = inject("full") ? 5_000 : 300;

for (const named of [false, true])
  test(`a message to a run${named ? ", with an id," : ""} that has read ${count} costs its sender what one of the first costs`, async () => {
    const works = await sent({ count, named });
    const early = works.slice(10, 40);
    const late = works.slice(-30);
    expect(most(late, "batches")).toBeLessThanOrEqual(most(early, "batches"));
    for (const field of ["fetched", "decoded", "written"] as const)
      expect(most(late, field) / most(early, field), field).toBeLessThan(1.2);
    for (const { reads, appends } of late) expect({ reads, appends }).toEqual({ reads: 1, appends: 1 });
  });

test("messages to many runs in turn: those of the latest runs are sent without reading them again", async () => {
  const { json, decoded } = countedJson();
  vi.stubGlobal("JSON", json);
  const lab = countedLab(decoded);
  const { app, run, workOf } = lab.process({ workflows: [reader], warm: 4 });
  for (let i = 0; i < 8; i++) await run(() => app.start("reader", 100, { id: `r${i}`, drive: false }));
  const round = (runs: number): Promise<Work> =>
    workOf(async () => {
      for (let i = 0; i < runs; i++) await app.send(`r${i}`, "add", 1, { id: `${i}` });
    });
  await round(4);
  for (let i = 0; i < 4; i++)
    expect(await run(() => app.send(`r${i}`, "add", 1, { id: `${i}` }))).toEqual({
      status: "accepted",
      repeated: true,
    });
  expect((await workOf(() => app.send("r3", "add", 1))).batches).toBe(0);
  // The fifth run takes the place of the one that was used longest ago.
  await run(() => app.send("r5", "add", 1));
  expect((await workOf(() => app.send("r3", "add", 1))).batches).toBe(0);
  expect((await workOf(() => app.send("r0", "add", 1))).batches).toBeGreaterThan(0);
});
