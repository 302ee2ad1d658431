import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { durable, DurableError } from "@durable/core";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { PostgresStorage } from "../src/index.ts";
import { headOf, request } from "./support/head.ts";
import { openSchema, type Opened } from "./support/open.ts";

// The server is that of inject("postgres").
function place(): Opened {
  const opened = openSchema(inject("postgres"));
  onTestFinished(() => opened.close());
  return opened;
}

const never = (): AbortSignal => new AbortController().signal;

describe("notifications", () => {
  test("are not sent for the steps of a run that goes on, and once for its end", async () => {
    const storage = place().open();
    const flow = durable(
      "quiet",
      async (ctx) => {
        for (let n = 0; n < 20; n++) await ctx.step("step", () => n);
      },
      { storage, secret: "a secret for tests" },
    );
    const started = await flow.start(undefined, { id: "one" });
    await started.result();
    expect(storage.sent.appends).toBeGreaterThanOrEqual(21);
    expect(storage.sent.notices).toBeLessThanOrEqual(1);
  });

  test("share a statement: 200 answers at once need a few", async () => {
    const { open } = place();
    const storage = open();
    const heads = Array.from({ length: 200 }, () => headOf());
    await Promise.all(heads.map((head) => storage.append(request(head, 0))));
    expect(storage.sent.appends).toBeLessThan(20);
    expect(storage.sent.notices).toBeLessThan(20);
  });

  test("tell another handle of an answer, an end and a release, without polling", async () => {
    const { open } = place();
    const [reader, writer] = [open(), open()];
    const head = headOf({ status: "suspended", wakeAt: null });
    await writer.append(request(head, 0));
    const whole = reader.changed(head.locator, 99, AbortSignal.timeout(60_000));
    await expect.poll(() => reader.listening, { timeout: 10_000 }).toBe(true);
    for (let position = 1; position <= 3; position++) {
      const changed = reader.changed(head.locator, position, never());
      await writer.append(request(head, position));
      await changed;
    }
    const due = reader.whenDue(["loan"], never());
    const taken = headOf();
    await writer.append(request(taken, 0, { lease: { owner: "a", ttlMs: 60_000 } }));
    await writer.release(taken.locator, "a");
    await due;
    void whole;
  });

  test("of any shape are harmless: any role of the database may send them", async () => {
    const { open, schema, sql } = place();
    const [reader, writer] = [open(), open()];
    const head = headOf({ status: "suspended", wakeAt: null });
    await writer.append(request(head, 0));
    const first = reader.changed(head.locator, 1, never());
    await expect.poll(() => reader.listening, { timeout: 10_000 }).toBe(true);
    const shapes = [
      null,
      5,
      "x",
      {},
      [],
      [null],
      [[]],
      [1, 2, 3],
      ["a", "b", "c"],
      [null, 0.5, null],
      [{}, 1, {}],
    ];
    const payloads = shapes.flatMap((shape) => [
      shape,
      [shape],
      ["x", shape],
      ["x", [shape]],
      ["x", [[null, 1, null], shape]],
    ]);
    const texts = [
      ...payloads.map((payload) => JSON.stringify(payload)),
      "",
      "{",
      "*",
      "\u0001",
      '["x"',
      "9".repeat(7_000),
    ];
    expect(texts.length).toBeGreaterThan(50);
    for (const round of [1, 2, 3, 4])
      for (const text of texts)
        await sql("SELECT pg_notify($1, $2)", [`${schema}:runs`, `${text}${" ".repeat(round)}`]);
    await writer.append(request(head, 1));
    await first;
    expect(reader.listening).toBe(true);
  });
});

test("a program that ends with close ends when everything is closed, and not before", async () => {
  const child = fileURLToPath(new URL("./support/closing-child.ts", import.meta.url));
  const { schema } = place();
  const program = spawn(
    process.execPath,
    ["--conditions=durable-source", child, inject("postgres"), schema],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  let said = "";
  program.stdout.on("data", (text) => (said += String(text)));
  const code = await new Promise((resolve) => program.once("close", resolve));
  expect([code, said]).toEqual([0, "closed\n"]);
});

test("a driver on this host that was killed is taken over at once, and not after its lease", async () => {
  const { open, schema } = place();
  const storage = open();
  await storage.list();
  const child = fileURLToPath(new URL("./support/lease-child.ts", import.meta.url));
  const driver = spawn(process.execPath, ["--conditions=durable-source", child, inject("postgres"), schema], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await new Promise((resolve) => driver.stdout.once("data", resolve));
  const [run] = (await storage.list()).runs;
  const locator = run?.locator ?? "";
  const dueRuns = async (): Promise<number> =>
    (await storage.list({ dueAt: Date.now(), workflow: "loan" })).runs.length;
  expect(await dueRuns(), "while it lives").toBe(0);
  expect(await storage.lease(locator, "me", 1_000)).toBeNull();
  const due = storage.whenDue(["loan"], never());
  const ended = new Promise((resolve) => driver.once("exit", resolve));
  driver.kill("SIGKILL");
  await ended;
  await due;
  await expect.poll(dueRuns).toBe(1);
  const claimed = await storage.claim({ workflow: ["loan"], dueAt: Date.now(), limit: 5, quietMs: 60_000 });
  expect(claimed.map((head) => head.locator)).toEqual([locator]);
  expect(await storage.lease(locator, "me", 1_000)).not.toBeNull();
});

describe("damage is found, never a short reply", () => {
  test.each([
    ["a batch that is missing", "DELETE FROM S.batches WHERE position = 1", /batch 1 is missing/],
    ["a last batch that is missing", "DELETE FROM S.batches WHERE position = 2", /has 2 of 3 batches/],
    [
      "a batch too many",
      "INSERT INTO S.batches SELECT run, 3, 'x' FROM S.batches WHERE position = 0",
      /has 4 of 3/,
    ],
    ["a blob that is missing", "DELETE FROM S.blobs", /blob "b" is missing/],
  ])("%s", async (_what, damage, message) => {
    const { open, sql } = place();
    const storage = open();
    const head = headOf();
    for (const position of [0, 1, 2])
      await storage.append(request(head, position, { blobs: [{ name: "b", body: "body" }] }));
    await sql(damage);
    const found = await storage.read(head.locator).catch((error: unknown) => error);
    expect(DurableError.is(found, "corrupt") && found.message).toMatch(message);
  });

  test("a batch where the next one belongs", async () => {
    const { open, sql } = place();
    const storage = open();
    const head = headOf();
    await storage.append(request(head, 0));
    await sql("INSERT INTO S.batches SELECT run, 1, 'x' FROM S.batches");
    await expect(storage.append(request(head, 1))).rejects.toMatchObject({ code: "corrupt" });
  });
});

describe("one call of a group", () => {
  test("that cannot be stored does not affect the others", async () => {
    const { open } = place();
    const storage = open();
    const heads = Array.from({ length: 6 }, () => headOf());
    // Longer than an entry of an index may be.
    const name = Array.from({ length: 6_000 }, () => Math.random().toString(36)[2] ?? "x").join("");
    const results = await Promise.allSettled(
      heads.map((head, n) =>
        storage.append(request(head, 0, n === 3 ? { blobs: [{ name, body: "" }] } : {})),
      ),
    );
    expect(results.map(({ status }) => status === "fulfilled")).toEqual([
      true,
      true,
      true,
      false,
      true,
      true,
    ]);
    expect((await storage.list()).runs).toHaveLength(5);
  });

  test("that is refused does not affect the others, blobs and new runs included", async () => {
    const { open } = place();
    const storage = open();
    const [old, ...fresh] = Array.from({ length: 5 }, () => headOf());
    await storage.append(request(old!, 0));
    const results = await Promise.allSettled([
      storage.append(request(old!, 0)),
      storage.append(request(old!, 1)),
      storage.append(request(fresh[0]!, 0, { blobs: [{ name: "unknown" }] })),
      storage.append(request(fresh[1]!, 0, { blobs: [{ name: "known", body: "body" }] })),
      storage.append(request(fresh[2]!, 3)),
      storage.append(request({ ...fresh[3]!, ancestors: [old!.locator] }, 0)),
    ]);
    expect(results.map(({ status }) => status === "fulfilled")).toEqual([
      false,
      true,
      false,
      true,
      false,
      true,
    ]);
    // One for the first batch, one for the group, one for the second batch of a run that the group has already.
    expect(storage.sent.appends).toBe(3);
    expect((await storage.read(fresh[1]!.locator)).blobs).toEqual({ known: "body" });
  });
});

test("a crowd of appends, with new runs, blobs and refusals among them, is two statements, or a few", async () => {
  const storage = place().open();
  const old = Array.from({ length: 30 }, () => headOf());
  await Promise.all(old.map((head) => storage.append(request(head, 0))));
  const before = storage.sent.appends;
  const lease = { owner: "a", ttlMs: 60_000 };
  const results = await Promise.allSettled([
    ...old.map((head, n) => storage.append(request(head, n % 10 === 0 ? 5 : 1, { lease }))),
    ...[headOf(), headOf()].map((head) => storage.append(request(head, 0, { lease }))),
    storage.append(request(headOf(), 0, { blobs: [{ name: "b", body: "body" }] })),
    storage.append(request(headOf(), 0, { blobs: [{ name: "missing" }] })),
  ]);
  expect(results.filter(({ status }) => status === "rejected")).toHaveLength(4);
  // Two statements may be under way, and each has a half. If the first has ended before the second is made, that one has a half
  // of the rest.
  expect(storage.sent.appends - before).toBeGreaterThanOrEqual(2);
  expect(storage.sent.appends - before).toBeLessThanOrEqual(4);
  for (const [n, { locator }] of old.entries())
    expect((await storage.read(locator)).length).toBe(n % 10 === 0 ? 1 : 2);
});

describe("connections", () => {
  test("that are terminated are replaced, and calls go on", async () => {
    const { open, schema, sql } = place();
    open();
    const storage = new PostgresStorage({ url: `${inject("postgres")}?application_name=${schema}`, schema });
    onTestFinished(() => storage.close());
    const head = headOf();
    await storage.append(request(head, 0));
    const waiting = storage.changed(head.locator, 1, never());
    await expect.poll(() => storage.listening, { timeout: 10_000 }).toBe(true);
    await sql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '${schema}'`);
    await expect
      .poll(() =>
        storage
          .append(request(head, 1))
          .then(() => true)
          .catch(() => false),
      )
      .toBe(true);
    await waiting;
    await expect.poll(() => storage.listening, { timeout: 20_000 }).toBe(true);
  });

  test("to nowhere are an error of the storage, with a code that is tried again", async () => {
    const storage = new PostgresStorage("postgres://nobody:hidden@127.0.0.1:1/nowhere");
    onTestFinished(() => storage.close());
    const error = await storage.read("x").catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "storage-busy" });
    expect(String(error)).toContain("127.0.0.1:1/nowhere");
    expect(JSON.stringify([String(error), (error as Error).stack])).not.toContain("hidden");
  });

  test("with a wrong password are named", async () => {
    const url = new URL(inject("postgres"));
    url.password = "wrong";
    const storage = new PostgresStorage(url.href);
    onTestFinished(() => storage.close());
    await expect(storage.read("x")).rejects.toThrow(/refuses the user or the password/);
  });
});

describe("options", () => {
  test.each([
    [{}, /needs either `url` or `pool`/],
    [{ url: "mysql://x" }, /begins with postgres:\/\//],
    [{ url: "postgres://x", schema: "a b" }, /got the schema "a b"/],
    [{ url: "postgres://x", schema: "x".repeat(41) }, /at most 40/],
    [{ url: "postgres://x", connections: 0 }, /at least 1 connection/],
    [{ url: "postgres://x", scheme: "y" }, /has no option "scheme"/],
  ])("%j are refused", (options, message) => {
    expect(() => new PostgresStorage(options)).toThrow(message);
  });
});

test("a row that cannot be read is listed as damaged, beside the others", async () => {
  const { open, sql } = place();
  const storage = open();
  const heads = [headOf(), headOf(), headOf()];
  for (const head of heads) await storage.append(request(head, 0));
  for (const change of ["ancestors = '{'", "flow = '{'", "marks = '{'", "tags = 'x'"]) {
    const { locator } = heads[1]!;
    await sql(`UPDATE S.runs SET ${change} WHERE locator = $1`, [locator]);
    const { runs } = await storage.list();
    expect(runs, change).toHaveLength(3);
    expect(runs.find((run) => run.locator === locator)).toMatchObject({
      status: "blocked",
      blocked: { code: "corrupt", message: expect.stringContaining("is damaged") },
    });
    await sql(
      `UPDATE S.runs SET ancestors = '[]', flow = NULL, marks = NULL, tags = NULL WHERE locator = $1`,
      [locator],
    );
  }
});
