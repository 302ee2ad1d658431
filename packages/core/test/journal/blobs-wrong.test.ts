import { createApp, durable, MemoryStorage, type Storage } from "@durable/core";
import type { AppendRequest, ReadReply } from "@durable/core/storage";
import { describe, expect, test } from "vitest";
import type { DurableError } from "../../src/values/errors.ts";
import { digest } from "../../src/values/hash.ts";
import { limits } from "../../src/values/limits.ts";
import { failureOf, lab, outputOf, type Lab } from "../support/behaviour-lab.ts";
import { textOf } from "../support/blobs-flow.ts";

const flow = durable("pages", async (ctx, input: { text: string }) => {
  const page = await ctx.step("page", () => [input.text, textOf(41, 30_000)]);
  await ctx.suspend("ok");
  return page;
});

/** The same storage, read through a lens. */
function seen(storage: Storage, lens: (reply: ReadReply) => ReadReply): Storage {
  return new Proxy(storage, {
    get: (target, name) => {
      if (name === "read") return async (...args: [string]) => lens(await target.read(...args));
      if (name === "readChapter") return undefined;
      const member = Reflect.get(target, name) as unknown;
      return typeof member === "function" ? (member.bind(target) as unknown) : member;
    },
  });
}

type Bodies = Record<string, string>;

/** What a process says that finds the blobs of a run changed; whatever it tries, nothing is written and nothing runs. */
async function verdict(on: Lab, change: (bodies: Bodies) => Bodies): Promise<DurableError> {
  const appends: AppendRequest[] = [];
  const storage = seen(on.storage, (reply) => ({ ...reply, blobs: change({ ...reply.blobs }) }));
  const guarded = new Proxy(storage, {
    get: (target, name) =>
      name === "append" ? (request: AppendRequest) => void appends.push(request) : Reflect.get(target, name),
  });
  const app = createApp({ ...on, storage: guarded, workflows: [flow] });
  const error = await failureOf(on.world.run(app.advance("r")));
  const attempts: (() => Promise<unknown>)[] = [
    () => app.get("r").outcome(),
    () => app.get("r").entries(),
    () => app.cancel("r"),
  ];
  for (const attempt of attempts) expect(await failureOf(on.world.run(attempt))).toEqual(error);
  expect(appends).toEqual([]);
  return error as DurableError;
}

async function parked(): Promise<Lab> {
  const on = lab();
  await on.world.run(flow.with({ ...on }).run({ text: textOf(42, 50_000) }, { id: "r" }));
  return on;
}

const mapped = (bodies: Bodies, change: (body: string, i: number) => string): Bodies =>
  Object.fromEntries(Object.entries(bodies).map(([name, body], i) => [name, change(body, i)]));

describe("H19 H20 a storage that gives other blobs than it was given", () => {
  const record =
    /^(run\.started|step\.completed of "page") in batch [01] of run r refers to blob [a-z2-7]{32}, which/;

  test.each<[string, (bodies: Bodies) => Bodies]>([
    ["none at all", () => ({})],
    ["one too few", (bodies) => Object.fromEntries(Object.entries(bodies).slice(0, -1))],
    ["others under their names", (bodies) => mapped(bodies, () => '"another text"')],
    [
      "one character changed",
      (bodies) => mapped(bodies, (body, i) => (i === 3 ? `${body.slice(0, -2)}X"` : body)),
    ],
    ["cut short", (bodies) => mapped(bodies, (body) => body.slice(0, -1))],
    ["empty", (bodies) => mapped(bodies, () => "")],
    ["no JSON", (bodies) => mapped(bodies, () => "{")],
    [
      "texts that changed places",
      (bodies) => {
        const texts = Object.values(bodies).toSorted();
        return mapped(bodies, (body) => texts[texts.length - 1 - texts.indexOf(body)] ?? body);
      },
    ],
  ])("%s: `corrupt`, and the record is named", async (_, change) => {
    const error = await verdict(await parked(), change);
    expect(error.code).toBe("corrupt");
    expect(error.message).toMatch(record);
    expect(error.message).toMatch(/Restore the journal from a backup\.$/);
  });

  test("what looks sealed where there is no key: `no-key`", async () => {
    const error = await verdict(await parked(), (bodies) => mapped(bodies, () => '{"$":"sealed"'));
    expect([error.code, error.message]).toEqual([
      "no-key",
      expect.stringMatching(/^Blob \w{32} of run r is encrypted/),
    ]);
  });

  test("more than it was given harms nothing", async () => {
    const on = await parked();
    const storage = seen(on.storage, (reply) => ({
      ...reply,
      blobs: { ...reply.blobs, stray: "x", "": "" },
    }));
    const outcome = await on.world.run(
      flow.with({ ...on, storage }).run({ text: textOf(42, 50_000) }, { id: "r" }),
    );
    expect(outcome.status).toBe("suspended");
  });

  test("a fork whose ancestor's blobs are wrong says whose they are", async () => {
    const on = await parked();
    await on.world.run(flow.with({ ...on }).fork("r", { after: "page", id: "f" }));
    const storage = seen(on.storage, (reply) => ({
      ...reply,
      blobs: mapped({ ...reply.blobs }, () => "[]"),
    }));
    const error = await failureOf(
      flow
        .with({ ...on, storage })
        .get("f")
        .outcome(),
    );
    expect(error).toMatchObject({
      code: "corrupt",
      message: expect.stringContaining("of run r refers to blob"),
    });
  });
});

describe("H51 hostile blobs", () => {
  /** A run whose output is the given text, with these blobs. */
  async function outputWith(value: string, bodies: readonly string[]): Promise<unknown> {
    const storage = new MemoryStorage();
    const app = createApp({
      storage,
      secret: "a secret for tests, of no worth",
      workflows: [durable("w", () => 1)],
    });
    await app.start("w", undefined, { id: "r" }).then((run) => run.result());
    const [head] = (await storage.list()).runs;
    const { batches } = await storage.read(head!.locator);
    const other = new MemoryStorage();
    const blobs = bodies.map((body) => ({ name: digest(32, "blob", body), body }));
    const ends = batches.map((batch) => batch.replace('"output":1', `"output":${value}`));
    for (const [position, batch] of ends.entries())
      await other.append({
        locator: head!.locator,
        position,
        batch,
        head: head!,
        ...(position === 0 ? {} : { blobs }),
      });
    const reader = createApp({
      storage: other,
      secret: "a secret for tests, of no worth",
      workflows: [durable("w", () => 1)],
    });
    return reader
      .get("r")
      .outcome()
      .then(outputOf, (error: DurableError) => error.code);
  }
  const name = (body: string): string => digest(32, "blob", body);

  test("are read as what they are, or refused by name: never an error of the language", async () => {
    const five = "5";
    expect(await outputWith(`{"$":"@${name(five)}"}`, [five])).toBe(5);
    const cases: Record<string, [string, ...string[]]> = {
      "a part of a list that is none": [`[{"$":"*${name(five)}"}]`, five],
      "fields that are none": ['{"$":"=","v":5}'],
      "fields without names": ['{"$":"=","v":[5]}'],
      "no fields": ['{"$":"="}'],
      "a piece of a text that is an object": [`{"$":"+${name("{}")}"}`, "{}"],
      "a blob that is nowhere": [`{"$":"@${name("nowhere")}"}`],
      "a name of Object.prototype": ['{"$":"@constructor"}'],
      "an empty name": ['{"$":"@"}'],
    };
    const found: Record<string, unknown> = {};
    for (const [what, [value, ...bodies]] of Object.entries(cases))
      found[what] = await outputWith(value, bodies);
    expect(found).toEqual({
      "a part of a list that is none": "corrupt",
      "fields that are none": "corrupt",
      "fields without names": "corrupt",
      "no fields": "corrupt",
      "a piece of a text that is an object": "[object Object]",
      "a blob that is nowhere": "corrupt",
      "a name of Object.prototype": "corrupt",
      "an empty name": "corrupt",
    });
  });

  test("nested beyond measure: `corrupt`, and no limit of the stack", async () => {
    let value = "1";
    const bodies: string[] = [];
    for (let i = 0; i < limits.valueDepth * 20; i++) {
      bodies.push(value);
      value = `[{"$":"@${name(value)}"}]`;
    }
    expect(await outputWith(value, bodies)).toBe("corrupt");
    const deep = `${"[".repeat(60_000)}{"$":"@x"}${"]".repeat(60_000)}`;
    expect(await outputWith(deep, [])).toBe("corrupt");
  });

  test("a bomb of names: as many items as may be, each part unpacked once", async () => {
    let value = JSON.stringify(Array.from({ length: 10 }, (_, i) => i));
    const bodies: string[] = [];
    for (let i = 0; i < 5; i++) {
      bodies.push(value);
      value = `[${Array.from({ length: 10 }, () => `{"$":"@${name(value)}"}`).join(",")}]`;
    }
    const output = (await outputWith(value, bodies)) as unknown[];
    expect(JSON.stringify(output).length).toBe(JSON.stringify(output[0]).length * 10 + 11);
  });
});
