import { inspect } from "node:util";
import { createApp, createWorker, durable, secret } from "@durable/core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { forgetSecrets } from "../../src/values/scrub.ts";
import { failureOf, lab, tokenOf } from "../support/behaviour-lab.ts";
import { batchesOf, dieAt, runOf } from "../support/behaviour-lives.ts";
import { leaksIn, loud } from "../support/canary-flow.ts";

const canary = "sk-Canary-51d0a84b36c2";

beforeEach(() => void secret(canary, "API_KEY"));
afterEach(forgetSecrets);

/** All there is to see of a thing. */
const shown = (value: unknown): string =>
  `${inspect(value, { depth: 12, showHidden: true })} ${String(value)} ${JSON.stringify(value)}`;

test("H67 a run that is blocked shows nothing of what its code threw", async () => {
  const on = lab();
  await runOf(
    on,
    durable("asks", (ctx) => ctx.suspend("ok")),
  );
  const changed = durable("asks", () => Promise.reject(loud(canary)));
  const outcome = await runOf(on, changed);
  expect(outcome).toMatchObject({ status: "blocked", error: { code: "diverged" } });
  expect(leaksIn(shown(outcome), canary)).toEqual([]);
  expect(shown(outcome)).toContain("[secret API_KEY]");
});

test("H67 an input that cannot be read, or is refused, is told of without it", async () => {
  const on = lab();
  const checked = durable("checked", (_, input: unknown) => input, {
    input: z.object({
      key: z.string().refine(() => false, { error: ({ input }) => `${String(input)} is no key` }),
    }),
  }).with({ ...on });
  const flow = durable("taken", (_, input: unknown) => input).with({ ...on });
  const getter = {
    get [canary](): never {
      throw loud(canary);
    },
  };
  for (const work of [
    () => checked.run({ key: canary }),
    () => flow.run(getter),
    () => flow.run({ f: () => canary }),
  ]) {
    const error = await failureOf(on.world.run(work));
    expect(leaksIn(shown(error), canary)).toEqual([]);
  }
});

test("H67 what the library warns of goes to the log without it", async () => {
  const on = lab();
  const app = createApp({
    ...on,
    storage: Object.assign(Object.create(on.storage) as typeof on.storage, {
      readChapter: undefined,
      claim: undefined,
      append: on.storage.append.bind(on.storage),
      read: () => Promise.reject(loud(canary)),
      lease: on.storage.lease.bind(on.storage),
      release: on.storage.release.bind(on.storage),
      list: on.storage.list.bind(on.storage),
      paused: on.storage.paused?.bind(on.storage),
    }),
    workflows: [durable("w", (ctx) => ctx.suspend("ok", { timeout: 5 }))],
  });
  const run = await app.start("w", undefined, { id: "r" });
  await on.world.run(run.result()).catch(() => {});
  await on.world.advance(60_000);
  const worker = createWorker(app, { interval: 10 });
  await on.world.advance(1_000);
  await on.world.run(worker.stop());
  expect(on.world.warnings.length).toBeGreaterThan(0);
  expect(on.world.warnings.join("\n")).toContain("[secret API_KEY]");
  expect(leaksIn(on.world.warnings.join("\n"), canary)).toEqual([]);
});

test("H67 an uncertain step: what somebody answers, and what its check says, is recorded without it", async () => {
  const on = lab();
  const flow = durable("charges", (ctx) =>
    ctx.step("charge", () => "charged", {
      onUncertain: "suspend",
      schema: z
        .string()
        .refine((text) => text === "charged", { error: ({ input }) => `${String(input)} is wrong` }),
    }),
  );
  await dieAt(on, flow, 2);
  const token = tokenOf(await runOf(on, flow));
  const app = createApp({ ...on, workflows: [flow] });
  const invalid = await on.world.run(app.resume(token, { status: "completed", value: canary }));
  expect(invalid).toMatchObject({ status: "invalid", issues: expect.stringContaining("[secret API_KEY]") });
  const odd = await on.world.run(app.resume(token, canary));
  await on.world.run(app.resume(token, { status: "completed", value: canary }, { drive: false }));
  await on.world.run(app.advance("r"));
  const rejected = (await app.get("r").entries()).find(({ kind }) => kind === "suspend.rejected");
  expect(rejected).toMatchObject({ issues: expect.stringContaining("[secret API_KEY]") });
  const failed = await on.world.run(app.resume(token, { status: "failed", message: canary }));
  expect(failed.outcome?.status).toBe("failed");
  const told = [invalid, odd, failed, await app.get("r").entries(), await batchesOf(on)].map(shown);
  expect(leaksIn(told.join("\n"), canary)).toEqual([]);
});

test("H67 labels and JSON Schemas, which storages and screens read, have none of it", async () => {
  const on = lab();
  const schema = z.object({ [`x ${canary}`]: z.string().default(canary).describe(canary) });
  const flow = durable("asks", (ctx) => ctx.suspend("ok", { schema }));
  await runOf(on, flow);
  const app = createApp({ ...on, workflows: [flow] });
  await on.world.run(flow.with({ ...on }).fork("r", { from: "ok", label: `try ${canary}`, id: "f" }));
  const { runs } = await app.list();
  expect(runs.map(({ label }) => label)).toContain("try [secret API_KEY]");
  const outcome = await app.get("r").outcome();
  expect(shown(outcome)).toContain("[secret API_KEY]");
  const bytes = [runs, outcome, await batchesOf(on), await batchesOf(on, "f")].map(shown).join("\n");
  expect(leaksIn(bytes, canary)).toEqual([]);
});
