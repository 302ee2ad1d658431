import { durable } from "@durable/core";
import { afterEach, expect, inject, test, vi } from "vitest";
import { countedJson, countedLab, type Work } from "./support/counted-lab.ts";

afterEach(() => vi.unstubAllGlobals());

interface Long {
  /** Steps before the waits, one batch each. */
  readonly steps: number;
  /** Waits that are open at once. */
  readonly waits: number;
  /** How many of them are answered at once. */
  readonly answers: number;
}

/** The work of an answer that is only recorded, in a process that has not seen the run. */
async function delivered({ steps, waits, answers }: Long): Promise<Work> {
  const { json, decoded } = countedJson();
  vi.stubGlobal("JSON", json);
  const flow = durable("long", async (ctx) => {
    for (let i = 0; i < steps; i++) await ctx.step("work", () => "a result of some length");
    await ctx.parallel(Array.from({ length: waits }, () => (c: typeof ctx) => c.suspend("ask")));
  });
  const lab = countedLab(decoded);
  const first = lab.process({ workflows: [flow] });
  await first.run(() => first.app.start("long", undefined, { id: "r" }));
  const outcome = await first.run(() => first.app.get("r").outcome());
  if (outcome.status !== "suspended") throw new Error(outcome.status);
  const tokens = outcome.waiting.slice(0, answers).map(({ token }) => token);
  expect(tokens).toHaveLength(answers);
  const { app, workOf } = lab.process({ workflows: [flow] });
  const statuses: string[] = [];
  const work = await workOf(async () => {
    const results = await Promise.all(tokens.map((token) => app.resume(token, 1, { drive: false })));
    statuses.push(...results.map(({ status }) => status));
  });
  expect(statuses).toEqual(tokens.map(() => "accepted"));
  const answered = (await first.run(() => first.app.get("r").entries())).filter(
    ({ kind }) => kind === "suspend.answered",
  );
  expect(answered).toHaveLength(answers);
  return work;
}

const steps = inject("full") ? 4_000 : 200;

test(`an answer after ${steps} and ${steps * 2} steps decodes the same text`, async () => {
  const once = await delivered({ steps, waits: 1, answers: 1 });
  const twice = await delivered({ steps: steps * 2, waits: 1, answers: 1 });
  expect(twice).toMatchObject({ reads: 1, appends: 1, leases: 0 });
  expect(twice.written).toBeLessThan(200);
  expect(twice.decoded / once.decoded).toBeLessThan(1.1);
});

const waits = inject("full") ? 4_000 : 2_000;

test(`an answer to one of ${waits} and ${waits * 2} waits decodes the batches that name this wait`, async () => {
  const once = await delivered({ steps: 0, waits, answers: 1 });
  const twice = await delivered({ steps: 0, waits: waits * 2, answers: 1 });
  expect(twice.decoded / once.decoded).toBeLessThan(1.1);
});

const answers = inject("full") ? 200 : 20;

test(`${answers} and ${answers * 2} answers at once: each costs the same`, async () => {
  const once = await delivered({ steps: 50, waits: 500, answers });
  const twice = await delivered({ steps: 50, waits: 500, answers: answers * 2 });
  expect(twice.appends).toBeLessThan(answers * 2 * 2);
  expect(twice.reads).toBeLessThan(answers * 2 * 2);
  expect(twice.appends / once.appends).toBeLessThan(2.2);
  // Each read also brings the answers that came before it; without those, it brings the same.
  const without = ({ fetched, written }: Work, count: number): number =>
    fetched - (written * (count - 1)) / 2;
  expect(without(twice, answers * 2) / without(once, answers)).toBeLessThan(2.2);
  expect(twice.decoded / once.decoded).toBeLessThan(2.2);
});

/** The work of each of `count` answers, one after the other, by a process that keeps what it has read. */
async function oneByOne(count: number): Promise<Work[]> {
  const { json, decoded } = countedJson();
  vi.stubGlobal("JSON", json);
  const flow = durable("many", (ctx) =>
    ctx.parallel(Array.from({ length: count }, () => (c: typeof ctx) => c.suspend("ask"))),
  );
  const { app, run, workOf } = countedLab(decoded).process({ workflows: [flow], warm: 1 });
  await run(() => app.start("many", undefined, { id: "r", drive: false }));
  const outcome = await run(() => app.advance("r"));
  if (outcome.status !== "suspended") throw new Error(outcome.status);
  const works: Work[] = [];
  for (const { token } of outcome.waiting)
    works.push(await workOf(() => app.resume(token, 1, { drive: false })));
  return works;
}

test("answers one after the other: the last of them reads what the third reads", async () => {
  const [, , third, ...more] = (await oneByOne(inject("full") ? 2_000 : 400)) as [
    Work,
    Work,
    Work,
    ...Work[],
  ];
  const last = more.at(-1)!;
  expect(last).toMatchObject({ reads: third.reads, appends: third.appends, batches: third.batches });
  expect(last.decoded).toBe(third.decoded);
});
