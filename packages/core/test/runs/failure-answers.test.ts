import { createApp, durable, type StandardSchema } from "@durable/core";
import { describe, expect, test } from "vitest";
import { failureOf, kindsOf, lab, outputOf, tokenOf } from "../support/behaviour-lab.ts";
import { afterDeath, till } from "../engine/calls/support/uncertain-till.ts";

const never: StandardSchema = {
  "~standard": { version: 1, vendor: "test", validate: () => ({ issues: [{ message: "never" }] }) },
};

const asks = durable("asks", async (ctx) => {
  try {
    return await ctx.suspend("ok", { schema: never });
  } catch (error) {
    const { name, message, code } = error as Error & { code?: string };
    return { name, message, code, isError: error instanceof Error };
  }
});

const declined = Object.assign(new TypeError("declined by hand"), { code: "E_DECLINED" });
const caught = { name: "TypeError", message: "declined by hand", code: "E_DECLINED", isError: true };

describe.each(["resume", "record"] as const)("%s with an error", (how) => {
  test("rejects the wait with it, whatever the schema, and again on replay", async () => {
    const on = lab();
    const app = createApp({ ...on, workflows: [asks], bind: false });
    const token = tokenOf(await on.world.run(app.run(asks, undefined, { id: "r" })));
    const { status } = await on.world.run(
      app.resume(token, undefined, { error: declined, drive: how === "resume" }),
    );
    expect(status).toBe("accepted");
    expect(outputOf(await on.world.run(app.advance("r")))).toEqual(caught);
    expect((await on.world.run(app.resume(token, 1))).status).toBe("duplicate");
    const fork = await on.world.run(app.fork(asks, "r", { after: "ok", id: "f" }));
    expect(await on.world.run(fork.result()), "a fork inherits the failure").toEqual(caught);
  });

  test("an uncaught one fails the run", async () => {
    const on = lab();
    const flow = durable("fails", (ctx) => ctx.suspend("ok"));
    const app = createApp({ ...on, workflows: [flow] });
    const token = tokenOf(await on.world.run(flow.run(undefined, { id: "r" })));
    await on.world.run(app.resume(token, undefined, { error: declined, drive: how === "resume" }));
    expect(await on.world.run(app.advance("r"))).toMatchObject({
      status: "failed",
      error: { code: "run-failed", cause: { message: "declined by hand", code: "E_DECLINED" } },
    });
  });

  test("needs undefined as the value", async () => {
    const on = lab();
    const app = createApp({ ...on, workflows: [asks], bind: false });
    const token = tokenOf(await on.world.run(app.run(asks, undefined, { id: "r" })));
    await expect(app.resume(token, 1, { error: declined, drive: how === "resume" })).rejects.toMatchObject({
      code: "invalid-options",
    });
  });
});

test("an error that comes before its wait is kept", async () => {
  const on = lab();
  let token = "";
  const flow = durable("early", async (ctx) => {
    const wait = ctx.suspend("ok");
    token = wait.token;
    await ctx.sleep("1h");
    return wait.catch((error: unknown) => (error as Error).message);
  });
  const app = createApp({ ...on, workflows: [flow] });
  await on.world.run(flow.run(undefined, { id: "r" }));
  await on.world.run(app.resume(token, undefined, { error: "a text", drive: false }));
  await on.world.advance(4_000_000);
  const outcome = await on.world.run(app.advance("r"));
  expect(outcome.status).toBe("completed");
  expect(await kindsOf(flow.get("r"))).toContain("suspend.resolved ok");
});

test("a question about an uncertain step that is answered with an error: the step has failed with it", async () => {
  const on = lab();
  const taken = till();
  const flow = durable("shop", async (ctx) => {
    const error = await failureOf(ctx.step("charge", taken.charge, { onUncertain: "suspend" }));
    const { code, cause } = error as Error & { code: string; cause: Error };
    return [code, cause.message];
  });
  await afterDeath(on, flow);
  const outcome = await flow.with(on).get("r").outcome();
  const token = tokenOf(outcome, "charge/uncertain");
  const answered = await on.world.run(flow.with(on).resume(token, undefined, { error: declined }));
  expect(outputOf(answered.outcome)).toEqual(["step-failed", expect.stringContaining("declined by hand")]);
  expect(taken.charges).toHaveLength(1);
});
