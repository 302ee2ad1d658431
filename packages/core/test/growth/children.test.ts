import { durable } from "@durable/core";
import { afterEach, expect, inject, test, vi } from "vitest";
import { countedJson, countedLab, type Work } from "./support/counted-lab.ts";

afterEach(() => vi.unstubAllGlobals());

/** The work of answering one of `count` children that wait, until their parent has learned of its end and parked again. */
async function oneAnswer(count: number, warm: number): Promise<Work> {
  const { json, decoded } = countedJson();
  vi.stubGlobal("JSON", json);
  const child = durable("child", (ctx) => ctx.suspend<number>("ask"));
  const parent = durable("parent", (ctx) =>
    ctx.map(
      Array.from({ length: count }, (_, i) => i),
      (c) => c.child(child),
    ),
  );
  const lab = countedLab(decoded);
  const workflows = [parent, child];
  const first = lab.process({ workflows, warm });
  await first.run(() => first.app.start("parent", undefined, { id: "r" }));
  const outcome = await first.run(() => first.app.get("r").outcome());
  if (outcome.status !== "suspended") throw new Error(outcome.status);
  expect(outcome.waiting).toHaveLength(count);
  const process = warm > 0 ? first : lab.process({ workflows });
  const { token } = outcome.waiting[count / 2]!;
  const work = await process.workOf(() => process.app.resume(token, 1));
  const ends = (await process.run(() => process.app.get("r").entries())).filter(
    ({ kind }) => kind === "child.completed",
  );
  expect(ends, "the parent knows").toHaveLength(1);
  return work;
}

const count = inject("full") ? 200 : 20;

test(`an answer to one of ${count} and ${count * 2} children in memory reads few journals, and no more for more children`, async () => {
  const once = await oneAnswer(count, 10_000);
  const twice = await oneAnswer(count * 2, 10_000);
  expect(twice.reads).toBeLessThanOrEqual(8);
  expect(twice.reads).toBe(once.reads);
  expect(twice.leases).toBe(once.leases);
  expect(twice.appends).toBe(once.appends);
  expect(twice.written - once.written).toBeLessThan(50);
});

test(`an answer to one of ${count} and ${count * 2} children in a new process reads and leases no more journals for more children`, async () => {
  const once = await oneAnswer(count, 0);
  const twice = await oneAnswer(count * 2, 0);
  expect(twice.reads).toBeLessThanOrEqual(8);
  expect(twice.reads).toBe(once.reads);
  expect(twice.leases).toBe(once.leases);
  expect(twice.appends).toBe(once.appends);
  // The parent alone is read whole.
  expect(twice.fetched / once.fetched).toBeLessThan(2.2);
});
