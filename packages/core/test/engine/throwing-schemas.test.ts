import { createApp, durable, type StandardSchema } from "@durable/core";
import { describe, expect, test } from "vitest";
import { failureOf, lab, outputOf, tokenOf } from "../support/behaviour-lab.ts";

type Validate = StandardSchema["~standard"]["validate"];

const schemaOf = (validate: Validate, jsonSchema?: () => unknown): StandardSchema => ({
  "~standard": {
    version: 1,
    vendor: "test",
    validate,
    ...(jsonSchema === undefined ? {} : { jsonSchema: { input: jsonSchema } }),
  },
});

const hostile: [string, Validate][] = [
  [
    "throws",
    () => {
      throw new TypeError("broken schema");
    },
  ],
  ["rejects", () => Promise.reject(new TypeError("broken schema"))],
  ["gives nothing", () => undefined as never],
];

describe.each(hostile)("a schema whose validate %s", (how, validate) => {
  const schema = schemaOf(validate);
  const reason = how === "gives nothing" ? /undefined/ : /broken schema/;

  test("as input: the start is refused, and nothing is recorded", async () => {
    const on = lab();
    const flow = durable("f", () => 1, { ...on, input: schema });
    const app = createApp({ ...on, workflows: [flow], bind: false });
    const starts: (() => Promise<unknown>)[] = [
      () => flow.run(1),
      () => flow.start(1),
      () => app.start("f", 1),
    ];
    for (const start of starts) {
      const error = await failureOf(on.world.run(start));
      expect(error).toMatchObject({ code: "invalid-input", message: expect.stringMatching(reason) });
    }
    expect((await on.storage.list()).runs).toEqual([]);
  });

  test("as input of a child: the child fails at once", async () => {
    const on = lab();
    const child = durable("child", () => 1, { input: schema });
    const flow = durable("f", (ctx) => ctx.child(child, 1));
    const start = on.world.now();
    const outcome = await on.world.run(flow.with(on).run(undefined, { id: "r" }));
    expect(outcome).toMatchObject({
      status: "failed",
      error: { code: "step-failed", cause: { code: "invalid-input" } },
    });
    expect(on.world.now() - start).toBeLessThan(1_000);
  });

  test("of a step: the step fails", async () => {
    const on = lab();
    const flow = durable("f", (ctx) => ctx.step("s", () => 1, { schema, retry: false }));
    const outcome = await on.world.run(flow.with(on).run());
    expect(outcome).toMatchObject({ status: "failed", error: { code: "step-failed" } });
    expect(outcome.status === "failed" && outcome.error.message).toMatch(reason);
  });

  test("of a wait: the answer is invalid, and the wait stays open", async () => {
    const on = lab();
    let broken = true;
    const patched = schemaOf((value) => (broken ? validate(value) : { value }));
    const flow = durable("f", (ctx) => ctx.suspend("w", { schema: patched }));
    const app = createApp({ ...on, workflows: [flow] });
    const token = tokenOf(await on.world.run(flow.with(on).run(undefined, { id: "r" })));

    const resumed = await on.world.run(app.resume(token, 1));
    expect(resumed).toMatchObject({ status: "invalid", outcome: { status: "suspended" } });
    expect(resumed.issues).toMatch(reason);

    expect(await on.world.run(app.resume(token, 2, { drive: false }))).toMatchObject({ status: "accepted" });
    expect(await on.world.run(app.advance("r"))).toMatchObject({ status: "suspended" });
    broken = false;
    expect(outputOf((await on.world.run(app.resume(token, 3))).outcome)).toBe(3);
  });

  test("of an edited step: no fork is made", async () => {
    const on = lab();
    let broken = false;
    const patched = schemaOf((value) => (broken ? validate(value) : { value }));
    const flow = durable("f", (ctx) => ctx.step("s", () => 1, { schema: patched })).with(on);
    await on.world.run(flow.run(undefined, { id: "r" }));
    broken = true;
    const error = await failureOf(on.world.run(flow.fork("r", { edit: { s: 2 } })));
    expect(error).toMatchObject({ code: "invalid-input", message: expect.stringMatching(reason) });
    expect((await on.storage.list()).runs.length).toBe(1);
  });
});

test("a schema whose JSON Schema throws is shown without a form", async () => {
  const on = lab();
  const schema = schemaOf(
    (value) => ({ value }),
    () => {
      throw new Error("no form");
    },
  );
  const flow = durable("f", (ctx) => ctx.suspend("w", { schema })).with(on);
  const parked = await on.world.run(flow.run());
  expect(parked).toMatchObject({ status: "suspended", waiting: [{ schema: null }] });
  expect(outputOf((await on.world.run(flow.resume(tokenOf(parked), 1))).outcome)).toBe(1);
});
