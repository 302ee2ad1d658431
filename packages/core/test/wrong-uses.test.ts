/**
 * 36 wrong uses: the compiler refuses those of wrong-uses.test-d.ts, and these 12, which it cannot see, are refused at run
 * time with a message that says what to do.
 */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createApp, createWorker, durable, MemoryStorage, type Context } from "../src/index.ts";

/** A value of a class, which a journal cannot keep. */
class Money {
  readonly amount = 5;
}

const empty = durable("empty", () => 1);
const app = createApp({ workflows: [empty], storage: new MemoryStorage(), bind: false });

/** The error of a run of this body. */
async function failed(body: (ctx: Context) => unknown): Promise<unknown> {
  const outcome = await durable("wrong", body, { storage: new MemoryStorage(), retry: false }).run();
  throw "error" in outcome ? outcome.error : new Error(outcome.status);
}

const uses: readonly (readonly [what: string, code: string, says: RegExp, use: () => unknown])[] = [
  ["a name that is empty", "invalid-name", /name/, () => durable("", () => 1)],
  ["no function", "invalid-options", /needs a function/, () => durable("x", "body" as never)],
  [
    "two workflows of one name",
    "invalid-options",
    /Rename one/,
    () => createApp({ workflows: [empty, empty] }),
  ],
  ["a worker without places", "invalid-options", /at least 1/, () => createWorker(app, { concurrency: 0 })],
  ["a negative timeout", "invalid-options", /valid duration/, () => durable("x", () => 1, { timeout: -1 })],
  [
    "a deadline that is no date",
    "invalid-options",
    /deadline/,
    () => durable("x", () => 1, { deadline: new Date("soon") }),
  ],
  ["a run id with a space", "invalid-id", /a b/, () => app.start("empty", undefined, { id: "a b" })],
  [
    "both cron and every",
    "invalid-options",
    /cron/,
    () => app.schedule("s", empty, { cron: "0 * * * *", every: "1h" } as never),
  ],
  [
    "a step in a step",
    "step-failed",
    /step/,
    () => failed((ctx) => ctx.step("a", () => ctx.step("b", () => 1))),
  ],
  ["a value of a class", "step-failed", /Money/, () => failed((ctx) => ctx.step("a", () => new Money()))],
  ["a slash in a name", "invalid-name", /a\/b/, () => failed((ctx) => ctx.step("a/b", () => 1))],
  [
    "a quota that is not declared",
    "invalid-options",
    /createApp\(\{ quotas \}\)/,
    () => failed((ctx) => ctx.step("a", () => 1, { quota: "openai" })),
  ],
];

test.each(uses)("%s is refused", async (_what, code, says, use) => {
  const error = await Promise.resolve()
    .then(use)
    .then(
      () => null,
      (thrown: unknown) => thrown,
    );
  expect(error).toMatchObject({ name: "DurableError", code });
  expect((error as Error).message).toMatch(says);
});

test("with those that the compiler refuses, they are 36", () => {
  const types = readFileSync(new URL("wrong-uses.test-d.ts", import.meta.url), "utf8");
  expect(types.match(/@ts-expect-error/g)).toHaveLength(24);
  expect(uses).toHaveLength(12);
});
