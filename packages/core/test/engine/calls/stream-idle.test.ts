import { durable } from "@durable/core";
import { countingStorage } from "@durable/testing";
import { expect, test } from "vitest";
import { lab } from "../../support/behaviour-lab.ts";
import { runOf } from "../../support/behaviour-lives.ts";
import { readAll } from "../../support/stream-lab.ts";

test("a reader that waits asks the storage nothing until there is something to read", async () => {
  const on = lab();
  const storage = countingStorage(on.storage);
  const flow = durable("silent", (ctx) => ctx.suspend("ok"));
  await runOf(on, flow);
  const leave = new AbortController();
  const run = flow.with({ ...on, storage }).get("r");
  const reading = readAll(run.stream("words", { signal: leave.signal }));
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(storage.counts.reads).toBe(1);
  leave.abort();
  await reading;
});
