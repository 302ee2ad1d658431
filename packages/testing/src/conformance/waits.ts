/**
 * What heads say about open waits, lists in the order in which these expire, and whether a run has a live driver. Proven in
 * test/conformance.test.ts.
 */

import type { RunHead } from "@durable/core";
import { expect } from "vitest";
import { request, type Checks, type Subject } from "./subject.ts";

const waits = (expiresAt: number | null, question = '"may I?"') => ({ count: 1, expiresAt, question });

const locatorsOf = (heads: readonly RunHead[]): string[] => heads.map(({ locator }) => locator);

/** Appends the next batch with other marks. */
async function change(
  { storage }: Subject,
  before: RunHead,
  position: number,
  marks: Pick<RunHead, "waits" | "mark" | "usage" | "scores">,
): Promise<RunHead> {
  const {
    waits: _,
    mark: __,
    usage: ___,
    inherited: ____,
    error: _____,
    scope: ______,
    eval: _______,
    scores: ________,
    ...head
  } = before;
  const next = { ...head, ...marks };
  await storage.append({ ...request(next, position), newMarks: true });
  return next;
}

const asking: Checks = {
  "the open waits and the mark of a head are kept, changed and removed": async (subject) => {
    subject.needsFinds();
    const asked = { count: 3, expiresAt: 5_000.5, question: '"it\'s \u0000 日本 \u{1f44d}"' };
    const head = await subject.create({ waits: asked, mark: "cancelling" });
    const [other, plain] = [await subject.create({ mark: "waiting" }), await subject.create()];
    const heads = async (): Promise<readonly RunHead[]> => (await subject.list()).runs;
    expect(await heads()).toEqual([plain, other, head]);
    expect((await subject.storage.read(head.locator)).head).toEqual(head);
    const fewer = await change(subject, head, 1, { waits: { ...asked, count: 2 } });
    expect(await heads()).toEqual([plain, other, fewer]);
    const opened = await change(subject, plain, 1, { waits: waits(null), mark: "failing" });
    const none = await change(subject, fewer, 2, {});
    expect(await heads()).toEqual([opened, other, none]);
    await subject.storage.append(request(opened, 2));
    expect((await heads())[0], "an append that changes nothing about waits").toEqual(opened);
  },

  "what a head says of usage, errors, scope, evals and scores is kept, changed and removed": async (
    subject,
  ) => {
    subject.needsFinds();
    const row = {
      day: "2026-11-18",
      label: "ask \u0000 \u{1f44d}",
      model: "m",
      inputTokens: 2 ** 40,
      outputTokens: 0,
    };
    const error = { code: "step-failed", key: "a/b", group: "g", message: '"it\'s"' };
    const inherited = [{ ...row, provider: "p", cost: 0.1 + 0.2 }];
    const scores = { helpful: 0, "a.b:c/d-e": -1.5e-7 };
    const head = await subject.create({
      usage: [row],
      inherited,
      error,
      scope: "tenant-1",
      eval: "e 1",
      scores,
    });
    const plain = await subject.create();
    const heads = async (): Promise<readonly RunHead[]> => (await subject.list()).runs;
    expect(await heads()).toEqual([plain, head]);
    expect((await subject.storage.read(head.locator)).head).toEqual(head);
    const rows = Array.from({ length: 32 }, (_, n) => ({ ...row, label: `${n}`.repeat(100) }));
    const more = await change(subject, plain, 1, { usage: rows, waits: waits(5) });
    const less = await change(subject, head, 1, { usage: [row, row] });
    expect(await heads()).toEqual([more, less]);
    await subject.storage.append(request(more, 2));
    expect((await heads())[0], "an append that changes nothing of it").toEqual(more);
    const ended = { status: "completed", wakeAt: null, dueSince: null } as const;
    const end = await change(subject, { ...less, ...ended }, 2, {});
    const scored = await change(subject, end, 3, { scores });
    expect((await heads())[1], "scores come after the end").toEqual(scored);
    expect((await subject.storage.read(head.locator)).head).toEqual(scored);
  },

  "list({ waiting }) has runs with open waits, those that expire first before others, whatever they do":
    async (subject) => {
      subject.needsFinds();
      const never = await subject.create({ waits: waits(null) });
      await subject.create();
      const late = await subject.create({
        waits: waits(900),
        status: "suspended",
        wakeAt: 900,
        dueSince: 900,
      });
      const early = await subject.create({ waits: waits(300), workflow: "mail", tags: { customer: "42" } });
      const paused = await subject.create({
        waits: waits(500),
        status: "paused",
        wakeAt: null,
        dueSince: null,
      });
      await subject.create({ mark: "waiting" });
      const never2 = await subject.create({ waits: waits(null), workflow: "mail" });
      const found = async (query: object = {}): Promise<string[]> =>
        subject.locators({ waiting: true, ...query });
      const all = [early, paused, late, never, never2];
      expect((await subject.list({ waiting: true })).runs).toEqual(all);
      expect(await found({ workflow: "mail" })).toEqual(locatorsOf([early, never2]));
      expect(await found({ workflow: ["mail", "loan"] })).toEqual(locatorsOf(all));
      expect(await found({ status: "paused" })).toEqual([paused.locator]);
      expect(await found({ tags: { customer: "42" } })).toEqual([early.locator]);
      expect(await found({ createdAfter: paused.createdAt })).toEqual(locatorsOf([paused, never2]));
      for (const limit of [1, 2, 3]) {
        const pages = await subject.pages({ waiting: true, limit }, async () => {});
        expect(pages, `pages of ${limit}`).toEqual(all);
      }
      await change(subject, early, 1, {});
      await change(subject, never, 1, { waits: waits(100) });
      await subject.storage.delete(late.locator);
      expect(await found(), "an answer, a new wait and a deletion").toEqual(
        locatorsOf([never, paused, never2]),
      );
    },
};

const driving: Checks = {
  "lists and reads say whether a run has a live driver": async (subject) => {
    const { storage, clock } = subject;
    const head = await subject.create({}, { owner: "x", ttlMs: 1_000 });
    const driven = async (): Promise<unknown[]> => {
      await subject.settled();
      const { runs } = await storage.list();
      const reads = [await storage.read(head.locator), await storage.readChapter?.(head.locator)];
      return [...new Set([...runs, ...reads].flatMap((one) => (one === undefined ? [] : [one.driven])))];
    };
    expect(await driven(), "a lease that came with a batch").toEqual([true]);
    await storage.append(request(head, 1, { owner: "x", ttlMs: 2_000 }));
    clock.now += 1_500;
    expect(await driven(), "a lease that was extended").toEqual([true]);
    clock.now += 1_000;
    expect(await driven(), "a lease that has expired").toEqual([false]);
    await storage.lease(head.locator, "y", 1_000);
    expect(await driven(), "a lease that was taken").toEqual([true]);
    await storage.release(head.locator, "y");
    expect(await driven(), "a lease that was released").toEqual([false]);
    await storage.lease(head.locator, "z", 1_000);
    await storage.append({ ...request(head, 2), lease: null });
    expect(await driven(), "a batch that releases it").toEqual([false]);
  },
};

export const waitsChecks: Checks = { ...asking, ...driving };
