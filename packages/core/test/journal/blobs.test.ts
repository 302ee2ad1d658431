import { DatabaseSync } from "node:sqlite";
import { createApp, durable, MemoryStorage, type Storage } from "@durable/core";
import type { AppendRequest } from "@durable/core/storage";
import type { SqliteStorage } from "@durable/core/sqlite";
import { describe, expect, test } from "vitest";
import { Journal } from "../../src/index.ts";
import { lab, outputOf, sqliteLab, tokenOf, type Lab } from "../support/behaviour-lab.ts";
import { bookAnswers, bookFlow, bookInput, textOf } from "../support/blobs-flow.ts";
import { noting } from "./support/blobs-growth.ts";
import { livesOf } from "./support/blobs-lives.ts";

/** A storage that lets the test in before an append that brings blobs. */
function before(storage: Storage, hook: (request: AppendRequest) => Promise<void>): Storage {
  const append = async (request: AppendRequest): Promise<void> => {
    if (request.blobs !== undefined) await hook(request);
    return storage.append(request);
  };
  return new Proxy(storage, {
    get: (target, name) => {
      const member = name === "append" ? append : (Reflect.get(target, name) as unknown);
      return typeof member === "function" ? (member.bind(target) as unknown) : member;
    },
  });
}

const large = textOf(31, 50_000);
const noteworthy = (written: readonly { bodies: readonly string[] }[]): string[] =>
  written.flatMap(({ bodies }) => bodies);

describe("H71 blobs go with the append that lands", () => {
  const flow = durable("asks", (ctx) =>
    ctx.parallel({
      ask: (c) => c.suspend<string>("ask"),
      large: async (c) => [await c.step("first", () => large), await c.step("again", () => [large, large])],
    }),
  );
  const tokenIn = async (runId: string): Promise<string> => {
    const twin = lab();
    return tokenOf(await twin.world.run(flow.with({ ...twin }).run(undefined, { id: runId })));
  };

  test("an answer that comes first turns the append away: its blobs come with the next one", async () => {
    const on = lab();
    const app = createApp({ ...on, workflows: [flow] });
    const token = await tokenIn("r");
    const sent: AppendRequest[] = [];
    const storage = before(on.storage, async (request) => {
      sent.push(request);
      if (sent.length === 1) await app.resume(token, "early", { drive: false });
    });
    const outcome = await on.world.run(flow.with({ ...on, storage }).run(undefined, { id: "r" }));
    expect(outputOf(outcome)).toEqual({ ask: "early", large: [large, [large, large]] });
    const [refused, landed, ...later] = sent.map(({ blobs = [] }) => blobs);
    expect(landed).toEqual(refused);
    expect(landed?.every(({ body }) => body !== undefined)).toBe(true);
    // What is there is not sent again, though a step returned it twice more.
    const names = new Set(landed?.map(({ name }) => name));
    expect(later.flat().filter(({ name }) => names.has(name))).toEqual([]);
    expect(outputOf(await app.get("r").outcome())).toEqual(outputOf(outcome));
  });

  test.each(["lose-request", "lose-reply"] as const)("%s: the same blobs, written once", async (fault) => {
    const on = lab();
    let lost = false;
    const { storage: noted, written } = noting(on.storage);
    const storage = new Proxy(noted, {
      get: (target, name) => {
        if (name !== "append") return Reflect.get(target, name) as unknown;
        return async (request: AppendRequest): Promise<void> => {
          const hit = request.blobs !== undefined && !lost;
          lost ||= hit;
          if (!hit || fault === "lose-reply") await target.append(request);
          if (hit) throw new Error("The line is dead.");
        };
      },
    });
    const started = on.world.run(flow.with({ ...on, storage }).run(undefined, { id: "r" }));
    const outcome = await on.world.run(flow.with({ ...on }).resume(tokenOf(await started), "yes"));
    expect(outputOf(outcome.outcome)).toEqual({ ask: "yes", large: [large, [large, large]] });
    expect(lost).toBe(true);
    expect(new Set(noteworthy(written)).size).toBe(noteworthy(written).length);
  });

  test("a driver that takes over knows what its forerunner named, and sends none of it", async () => {
    const on = lab();
    const loop = durable("loop", async (ctx) => {
      const first = await ctx.step("first", () => [large, 1]);
      await ctx.suspend("ok");
      return ctx.step("second", () => [...first, 2]);
    });
    const token = tokenOf(await on.world.run(loop.with({ ...on }).run(undefined, { id: "r" })));
    const { storage, written } = noting(on.storage);
    const { outcome } = await on.world.run(loop.with({ ...on, storage }).resume(token, "go"));
    expect(outputOf(outcome)).toEqual([large, 1, 2]);
    expect(written.length).toBeGreaterThan(0);
    expect(written.flatMap(({ names }) => names)).toEqual([]);
  });
});

describe("H71 what runs have in common is kept once", () => {
  const flow = durable("pages", async (ctx, input: { text: string; n: number }) => {
    const page = await ctx.step("page", () => ({ text: input.text, more: textOf(32, 30_000) }));
    return ctx.step("bound", () => [page, page, input.n]);
  });
  const run = (on: Lab, id: string, text: string) =>
    on.world.run(flow.with({ ...on }).run({ text, n: 1 }, { id }));

  test("two runs of the same content: the second brings bodies that the storage keeps only once", async () => {
    const on = sqliteLab();
    const database = new DatabaseSync((on.storage as SqliteStorage).path, { readOnly: true });
    const blobs = (): number => Number(database.prepare("SELECT count(*) AS n FROM blobs").get()?.["n"]);
    const first = await run(on, "r-1", large);
    const kept = blobs();
    expect(outputOf(await run(on, "r-2", large))).toEqual(outputOf(first));
    expect(blobs()).toBe(kept);
    await run(on, "r-3", textOf(33, 50_000));
    expect(blobs()).toBeGreaterThan(kept);
    database.close();
  });

  test("a fork names its ancestor's blobs without sending them, and reads on when the parent is deleted", async () => {
    const on = lab();
    await run(on, "r-1", large);
    const { storage, written } = noting(on.storage);
    const bound = flow.with({ ...on, storage });
    const first = await on.world.run(bound.fork("r-1", { from: "bound", id: "f-1" }));
    const output = await on.world.run(first.result());
    const second = await on.world.run(bound.fork("f-1", { from: "bound", id: "f-2" }));
    expect(await on.world.run(second.result())).toEqual(output);
    expect(noteworthy(written)).toEqual([]);
    // Who makes a fork has not read what the ancestors keep: an edit is sent whole.
    const page = { text: large, more: "short" };
    const edited = await on.world.run(bound.fork("f-2", { edit: { page }, id: "f-3" }));
    expect(await on.world.run(edited.result())).toEqual([page, page, 1]);
    expect(noteworthy(written).join("").length).toBeGreaterThan(large.length);
    const app = createApp({ ...on, workflows: [flow] });
    await app.delete("r-1");
    for (const id of ["f-1", "f-2"]) expect(outputOf(await app.get(id).outcome())).toEqual(output);
    expect(outputOf(await app.get("f-3").outcome())).toEqual([page, page, 1]);
  });

  test("deleting the runs empties the tables; those that are left keep what they name", async () => {
    const on = sqliteLab();
    const { book, chapter } = bookFlow();
    const given = { input: bookInput, answers: bookAnswers };
    const first = await livesOf(on, book, { ...given, id: "b-1" });
    await livesOf(on, book, { ...given, id: "b-2" });
    const app = createApp({ ...on, workflows: [book, chapter] });
    const fork = await on.world.run(
      book.with({ ...on }).fork("b-1", { from: "tokens", edit: { plan: [large, large] }, id: "f-1" }),
    );
    await fork.cancel();
    const database = new DatabaseSync((on.storage as SqliteStorage).path, { readOnly: true });
    const rows = (table: string): number =>
      Number(database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.["n"]);
    const all = rows("blobs");
    await app.delete("b-1");
    // Hidden, and kept for its fork.
    expect(rows("blobs")).toBe(all);
    await app.delete("f-1");
    expect(rows("blobs")).toBeLessThan(all);
    expect(outputOf(await app.get("b-2").outcome())).toEqual(outputOf(first.end));
    for (const { runId } of (await app.list()).runs) await app.delete(runId);
    expect(["runs", "batches", "blobs", "named", "readers"].map(rows)).toEqual([0, 0, 0, 0, 0]);
    database.close();
  });
});

test("H71 a journal without a workflow keeps large records and streams, and another process reads them", async () => {
  const on = { storage: new MemoryStorage() };
  const journal = await Journal.open("direct", on);
  const { storage, written } = noting(on.storage);
  await journal.record("first", () => large);
  const other = await Journal.open("direct", { storage });
  expect(await other.record("first", () => "again")).toBe(large);
  expect(await other.record("second", () => [large, "more"])).toEqual([large, "more"]);
  expect(noteworthy(written)).toEqual([]);
  const chunks: string[] = [];
  for await (const chunk of other.recordStream("stream", () => [large, textOf(34, 9_000)]))
    chunks.push(chunk);
  const third = await Journal.open("direct", on);
  const again: string[] = [];
  for await (const chunk of third.recordStream<string>("stream", () => [])) again.push(chunk);
  expect(again).toEqual([large, textOf(34, 9_000)]);
  expect(chunks).toEqual(again);
});
