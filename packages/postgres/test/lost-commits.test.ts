/** Tables that go back to what they were some commits ago, as on an asynchronous replica that is promoted. */

import { createApp, durable } from "@durable/core";
import { expect, inject, onTestFinished, test } from "vitest";
import { PostgresStorage } from "../src/index.ts";
import { freshSchema, sharedPool } from "./support/open.ts";

const url = inject("postgres");
const secret = "only for this test, 32 characters";

test("a run whose last commits were lost goes on behind run.regressed, and asks about the step with an effect", async () => {
  const schema = freshSchema();
  const pool = sharedPool(url);
  const storage = new PostgresStorage({ url, schema });
  onTestFinished(() => storage.close());
  let isCopied = false;
  const replicate = async (): Promise<void> => {
    isCopied = true;
    for (const table of ["runs", "batches"])
      await pool.query(`CREATE TABLE ${schema}.old_${table} AS SELECT * FROM ${schema}.${table}`);
  };
  const promote = async (): Promise<void> => {
    for (const table of ["runs", "batches"])
      await pool.query(`DELETE FROM ${schema}.${table};
        INSERT INTO ${schema}.${table} OVERRIDING SYSTEM VALUE SELECT * FROM ${schema}.old_${table}`);
  };
  const done: string[] = [];
  const order = durable("order", async (ctx) => {
    await ctx.step("plan", () => done.push("plan"));
    await ctx.step("packed", () => (isCopied ? undefined : replicate()));
    const paid = await ctx.step("charge", () => done.push("charge") && "paid", { onUncertain: "suspend" });
    await ctx.step("mail", async () => {
      if (done.push("mail") === 3) await promote();
    });
    return paid;
  });
  const app = createApp({ storage, secret, workflows: [order] });
  const outcome = await app.run("order", undefined, { id: "o" });
  if (outcome.status !== "suspended") throw new Error(outcome.status);
  // The commit of "packed" itself came after the copy was made.
  expect((await app.get("o").entries())[2]).toMatchObject({
    kind: "run.regressed",
    from: 5,
    to: 2,
    steps: ["charge"],
  });
  const [head] = (await app.list({ workflow: "order" })).runs;
  expect(head).toMatchObject({ state: "waiting", waits: { count: 1 } });
  await app.resume(outcome.waiting[0]?.token ?? "", { status: "completed", value: "by hand" });
  expect(await app.get("o").result()).toBe("by hand");
  expect(done.filter((name) => name === "charge")).toEqual(["charge"]);
});
