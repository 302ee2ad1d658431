import { createApp, limits } from "@durable/core";
import { expect, test } from "vitest";
import type { Fact } from "../../src/journal/entry.ts";
import { writeFact } from "../../src/journal/batch.ts";
import { RunJournal } from "../../src/journal/journal.ts";
import { locatorOf, waitOf } from "../../src/journal/keys.ts";
import { keyring } from "../../src/journal/tokens.ts";
import type { Json } from "../../src/values/codec/tags.ts";
import { lab, type Lab } from "../support/behaviour-lab.ts";

const wait = (key: string): string => waitOf(key, "n");
const tokenOf = ({ secret }: Lab, key: string): string => keyring(secret).sign(locatorOf("r"), wait(key));

const started: Fact<Json> = {
  kind: "run.started",
  runId: "r",
  nonce: "n",
  workflow: "w",
  version: null,
  input: null,
};
const opened = (key: string): Fact<Json> => ({
  kind: "suspend.opened",
  key,
  after: 0,
  wait: wait(key),
  note: null,
  schema: null,
  expiresAt: null,
});
const resolved = (key: string): Fact<Json> => ({
  kind: "suspend.resolved",
  key,
  after: 0,
  wait: wait(key),
  value: null,
});
const answered = (key: string): Fact<Json> => ({ kind: "suspend.answered", wait: wait(key), value: null });

/** Writes the journal of run `r`, in batches that are as large as they may be. */
async function written(on: Lab, facts: readonly Fact<Json>[]): Promise<void> {
  const journal = new RunJournal(locatorOf("r"), on);
  for (let from = 0; from < facts.length; from += limits.batchEntries) {
    const batch = facts.slice(from, from + limits.batchEntries);
    await journal.append(batch.map((fact) => writeFact(fact, on.world.now())));
  }
}

const keys = (count: number): string[] => Array.from({ length: count }, (_, n) => `ask#${n + 1}`);

test("an answer is accepted after 20,001 waits that have settled", async () => {
  const on = lab();
  const before = keys(2 * limits.openWaits + 1);
  await written(on, [started, ...before.flatMap((key) => [opened(key), resolved(key)]), opened("last")]);
  const app = createApp({ ...on, workflows: [] });
  expect((await app.resume(tokenOf(on, "last"), "yes", { drive: false })).status).toBe("accepted");
  expect((await app.resume(tokenOf(on, "early"), "yes", { drive: false })).status).toBe("accepted");
  expect((await app.resume(tokenOf(on, before[0]!), "again", { drive: false })).status).toBe("duplicate");
});

test("early answers are limited, and answers to open waits are not", async () => {
  const on = lab();
  const early = keys(limits.openWaits);
  await written(on, [started, ...early.map(answered), opened("open")]);
  const app = createApp({ ...on, workflows: [] });
  await expect(app.resume(tokenOf(on, "one more"), "yes", { drive: false })).rejects.toMatchObject({
    code: "limit",
    message: expect.stringContaining("Run r accepts no more early answers") as string,
  });
  expect((await app.resume(tokenOf(on, early[0]!), "again", { drive: false })).status).toBe("accepted");
  expect((await app.resume(tokenOf(on, "open"), "yes", { drive: false })).status).toBe("accepted");
});

test("an early answer no longer counts once its wait is open", async () => {
  const on = lab();
  const early = keys(limits.openWaits);
  await written(on, [started, ...early.map(answered), opened(early[0]!)]);
  const app = createApp({ ...on, workflows: [] });
  expect((await app.resume(tokenOf(on, "one more"), "yes", { drive: false })).status).toBe("accepted");
  await expect(app.resume(tokenOf(on, "two more"), "yes", { drive: false })).rejects.toMatchObject({
    code: "limit",
  });
});
