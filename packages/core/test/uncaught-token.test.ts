/** Whoever reads the output of a process that died must not be able to answer for a person. */

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import { durable, MemoryStorage } from "@durable/core";
import { expect, test } from "vitest";
import { lab, secret } from "./support/behaviour-lab.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const program = `
  import { durable, MemoryStorage } from "@durable/core";
  const flow = durable("flow", (ctx) => ctx.suspend("approval", { note: { plan: "x" } }));
  const on = flow.with({ storage: new MemoryStorage(), secret: ${JSON.stringify(secret)} });
  const run = await on.start(undefined, { id: "r" });
  await run.result().catch(() => {});
  const { waiting } = await run.outcome();
  console.log(waiting[0].token);
  await run.result();
`;

test("a token in the log of a process that died of an uncaught error: there is none", () => {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["--conditions=durable-source", "--input-type=module", "-e", program],
    { cwd: root, encoding: "utf8" },
  );
  const token = stdout.trim();
  expect(status).toBe(1);
  expect(token).toMatch(/^[a-z2-7]{55}$/);
  // The reader still sees what the run waits for.
  expect(stderr).toMatch(/code: 'suspended'[^]*key: 'approval'/);
  expect(stderr).not.toContain(token);
});

test("the program itself finds the token in the error", async () => {
  const flow = durable("flow", (ctx) => ctx.suspend("approval"));
  const on = { ...lab(), storage: new MemoryStorage() };
  const run = await on.world.run(flow.with(on).start(undefined, { id: "r" }));
  const error = await on.world.run(run.result().catch((reason: unknown) => reason));
  const { details } = error as { details: { waiting: { token: string; key: string }[] } };
  const token = details.waiting[0]?.token ?? "";
  expect(inspect(error, { depth: 10 })).not.toContain(token);
  expect(JSON.stringify(error)).not.toContain(token);
  expect(await on.world.run(flow.with(on).resume(token, 1))).toMatchObject({ status: "accepted" });
});
