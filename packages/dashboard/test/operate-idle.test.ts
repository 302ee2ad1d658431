/** What operators see of limits that nothing uses, of work without a named worker, and of a step that tells how far it is. */

import { type App, createApp, createWorker, durable, MemoryStorage, type StepInfo } from "@durable/core";
import { describe, expect, inject, test } from "vitest";
import type { Operations, RunPage, StepDetail } from "../src/api.ts";
import { Site } from "./support/ask.ts";
import { skipReason } from "./support/chromium.ts";
import { secret } from "./support/journals.ts";
import { opened } from "./support/opened.ts";
import { soon } from "./support/visitor.ts";

const hold = Promise.withResolvers<void>();
const copy = async ({ heartbeat }: StepInfo): Promise<void> => {
  heartbeat({ page: 3, of: 40 });
  await hold.promise;
};
const mail = durable("mail", (ctx) => ctx.step("long", copy), {
  concurrency: { max: 2, key: "all" },
  rate: { max: 100, per: "1 hour" },
});
const letter = durable("letter", (ctx) => ctx.step("long", copy));

/** One run with a worker that has a name, and one that its own program drives. */
async function working(): Promise<App> {
  const storage = new MemoryStorage();
  const app = createApp({ storage, secret, workflows: [mail], bind: false });
  const other = createApp({ storage, secret, workflows: [letter], bind: false });
  createWorker(app, { name: "mail-1", interval: 50 });
  await app.start("mail", undefined, { id: "m" });
  await other.start("letter", undefined, { id: "l" });
  return app;
}

test("limits that nothing uses are listed, and calls with the worker that makes them", async () => {
  const app = await working();
  const site = new Site({ app });
  const { declared } = await site.get<Operations>("operations");
  expect(declared).toEqual([
    { workflow: "mail", what: "concurrency", max: 2, keyed: true },
    { workflow: "mail", what: "rate", max: 100, perMs: 3_600_000, keyed: false },
  ]);
  const calls = async (): Promise<unknown[]> =>
    (await site.get<Operations>("operations")).doing.map(({ runId, worker, words }) => [
      runId,
      worker,
      words,
    ]);
  await expect
    .poll(async () => new Set(await calls()), soon)
    .toEqual(
      new Set([
        ["l", undefined, '{"page":3,"of":40}'],
        ["m", "mail-1", '{"page":3,"of":40}'],
      ]),
    );
  expect((await site.get<RunPage>("runs/m")).rows).toMatchObject([
    { key: "long", words: '{"page":3,"of":40}' },
  ]);
  expect(await site.get<StepDetail>("runs/m/step?key=long")).toMatchObject({ attempts: [{ number: 1 }] });
  expect(
    (await new Site({ storage: new MemoryStorage(), secret }).get<Operations>("operations")).declared,
  ).toEqual([]);
});

describe.skipIf(skipReason !== null)("in a browser", () => {
  const site = opened(working);

  test.runIf(inject("full"))(
    "work without a name, limits without use and progress are on the page",
    async () => {
      const one = await site.current.visit("/operate?tab=workers");
      await one.says("1 run is driven by a process without a name");
      const table = one.page.locator('[aria-label="Under way"]');
      await expect
        .poll(
          async () => (await table.getByRole("row").allInnerTexts()).map((row) => row.replace(/\s+/g, " ")),
          soon,
        )
        .toEqual([
          expect.stringContaining("Worker"),
          expect.stringMatching(/^(?:m .*mail-1|l .*no name)/),
          expect.stringMatching(/^(?:m .*mail-1|l .*no name)/),
        ]);
      await one.page.getByRole("tab", { name: "Limits" }).click();
      await one.says("at most 100 begin within 1 h");
      await one.says("at most 2 at once");
      await one.go("/runs/m?step=long");
      await one.says('has reached {"page":3,"of":40}');
      await one.close();
    },
  );
});
