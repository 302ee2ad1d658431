/** `during`: the runs of a time, for sums and charts. Proven in test/conformance.test.ts. */

import type { RunHead } from "@durable/core";
import { expect } from "vitest";
import { request, type Checks, type Subject } from "./subject.ts";

async function end(subject: Subject, before: RunHead, status: "completed" | "failed"): Promise<RunHead> {
  const updatedAt = (subject.clock.now += 1);
  const head: RunHead = { ...before, status, updatedAt, wakeAt: null, dueSince: null };
  await subject.storage.append(request(head, 1));
  return head;
}

export const duringChecks: Checks = {
  "runs of the time of their creation come newest first, with what sums need, and no others": async (
    subject,
  ) => {
    const during = subject.optional("during");
    const row = {
      day: "2026-11-18",
      label: "ask \u0000 \u{1f44d}",
      model: "m",
      inputTokens: 5,
      outputTokens: 0,
    };
    const said = {
      usage: [row],
      inherited: [{ ...row, cost: 0.1 + 0.2 }],
      eval: "e 1",
      error: { code: "step-failed", key: "a/b", group: "g", message: '"it\'s"' },
    };
    const early = await subject.create();
    const one = await subject.create({ ...said, tags: { customer: "42" }, version: "v7", steps: 3 });
    const two = await subject.create({ workflow: "mail" });
    const gone = await subject.create();
    const late = await subject.create();
    await subject.storage.delete(gone.locator);
    const found = async (after: number, before: number, limit = 10): Promise<unknown[]> =>
      (await during({ by: "created", after, before, limit })).map(({ runId }) => runId);
    expect(await found(one.createdAt, late.createdAt)).toEqual([two.runId, one.runId]);
    expect(await found(0, late.createdAt + 1)).toEqual([late, two, one, early].map(({ runId }) => runId));
    expect(await found(0, late.createdAt + 1, 2)).toEqual([late.runId, two.runId]);
    expect(await found(late.createdAt + 1, late.createdAt + 100)).toEqual([]);
    const [whole] = await during({
      by: "created",
      after: one.createdAt,
      before: one.createdAt + 1,
      limit: 1,
    });
    const { runId, workflow, status, createdAt, updatedAt } = one;
    expect(whole).toEqual({
      runId,
      workflow,
      status,
      createdAt,
      updatedAt,
      steps: 3,
      ...said,
      tags: { customer: "42" },
      version: "v7",
    });
  },

  "runs of the time of their end come newest first, by status, and none that goes on": async (subject) => {
    const during = subject.optional("during");
    const heads: RunHead[] = [];
    for (const workflow of ["loan", "mail", "loan", "mail", "open"])
      heads.push(await subject.create({ workflow }));
    const [a, b, c, d] = heads as [RunHead, RunHead, RunHead, RunHead];
    const failed = await end(subject, c, "failed");
    const done = await end(subject, a, "completed");
    const failedToo = await end(subject, b, "failed");
    await end(subject, d, "completed");
    const found = async (query: object = {}): Promise<string[]> =>
      (await during({ by: "ended", after: 0, before: subject.clock.now + 1, limit: 10, ...query })).map(
        ({ runId }) => runId,
      );
    expect(await found()).toEqual([d, b, a, c].map(({ runId }) => runId));
    expect(await found({ status: "failed" })).toEqual([b.runId, c.runId]);
    expect(await found({ limit: 1 })).toEqual([d.runId]);
    expect(await found({ after: done.updatedAt, before: failedToo.updatedAt })).toEqual([a.runId]);
    expect(await found({ status: "failed", after: failed.updatedAt + 1 })).toEqual([b.runId]);
    // A retry takes the end back.
    await subject.storage.append(
      request(
        { ...failedToo, status: "running", wakeAt: 0, dueSince: 1, updatedAt: (subject.clock.now += 1) },
        2,
      ),
    );
    expect(await found({ status: "failed" })).toEqual([c.runId]);
  },
};
