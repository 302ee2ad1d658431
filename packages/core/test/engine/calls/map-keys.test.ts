import { durable, type Context } from "@durable/core";
import { describe, expect, test } from "vitest";
import { lab, outputOf } from "../../support/behaviour-lab.ts";
import { dieAt, replayOf, runOf } from "../../support/behaviour-lives.ts";

/** Texts of users: paths, markup, nothing, other scripts, control characters, halves of pairs, whole documents. */
const texts = [
  "a/b#1[x]",
  "",
  " ",
  "%",
  "%2F",
  "/",
  "🧭 map",
  "計画",
  "line\nbreak\0",
  "\uD800",
  "\uDC00",
  "x".repeat(5_000),
  `${"x".repeat(4_999)}y`,
  "__proto__",
  "0",
];
const isWellFormed = (text: string): boolean => !/\p{Cs}/u.test(text);

/** A step per item. Its value has no halves of pairs, which JSON in UTF-8 does not keep. */
const flow = durable("map", (ctx) =>
  ctx.map(texts, (c, text, index) => c.step("work", () => `${index} ${isWellFormed(text) ? text : ""}`), {
    key: (text) => text,
  }),
);
const expected = texts.map((text, index) => `${index} ${isWellFormed(text) ? text : ""}`);

describe("keys of any text", () => {
  test("give one branch each, also after a replay", async () => {
    const on = lab();
    expect(outputOf(await runOf(on, flow))).toEqual(expected);
    expect(outputOf(await replayOf(on, flow))).toEqual(expected);
    const entries = await flow
      .with({ ...on })
      .get("r")
      .entries();
    const keys = entries.flatMap((entry) => (entry.kind === "step.completed" ? [entry.key] : []));
    expect(new Set(keys).size).toBe(texts.length);
    for (const key of keys) expect(key).toMatch(/^map\[[^#/[\]\p{Cc}\p{Cs}]{1,128}\]\/work$/u);
  });

  test("find their records when the items change places after a crash", async () => {
    const ran: string[] = [];
    const shuffled = (items: readonly string[]) =>
      durable("map", (ctx) =>
        ctx.map(
          items,
          (c, text) =>
            c.step("work", () => {
              ran.push(text);
              return text.length;
            }),
          { key: (text) => text, concurrency: 1 },
        ),
      );
    const on = lab();
    await dieAt(on, shuffled(texts), 8);
    const before = ran.length;
    const outcome = await runOf(on, shuffled(texts.toReversed()));
    expect(outputOf(outcome)).toEqual(texts.toReversed().map((text) => text.length));
    // Only the step whose record was lost with its process may run again.
    expect(ran.length - before).toBeLessThanOrEqual(texts.length - 6);
    expect(new Set(ran).size).toBe(texts.length);
  });

  test("can be forked and edited by the key of the journal", async () => {
    const on = lab();
    const own = flow.with({ ...on });
    await on.world.run(own.run(undefined, { id: "r" }));
    const entries = await own.get("r").entries();
    const [path, document] = [0, 11].map((index) => {
      const entry = entries.find(
        (one) => one.kind === "step.completed" && String(one.value).startsWith(`${index} `),
      );
      return entry !== undefined && "key" in entry ? entry.key : "";
    }) as [string, string];
    expect(path).toBe("map[a%2Fb%231%5Bx%5D]/work");
    const edited = await on.world.run(own.fork("r", { edit: { [path]: "edited", [document]: "short" } }));
    const output = await on.world.run(edited.result());
    expect(output).toEqual(expected.with(0, "edited").with(11, "short"));
    const again = await on.world.run(own.fork("r", { from: path }));
    expect(await on.world.run(again.result())).toEqual(expected);
    const kinds = (await again.entries()).filter(({ kind }) => kind === "step.completed");
    expect(kinds.length, "the others are inherited").toBe(texts.length);
  });

  test("may name waits, sleeps, streams and children", async () => {
    const on = lab();
    const child = durable("child", (ctx, text: string) => ctx.step("s", () => text.length));
    const all = durable("all", (ctx) =>
      ctx.map(
        texts.slice(0, 5),
        async (c: Context, text) => {
          await c.sleep(5);
          const chunks = await c.stream("feed", () => [text]);
          return [await c.suspend("ok"), ...chunks, await c.child(child, text)];
        },
        { key: (text) => text },
      ),
    ).with({ ...on });
    let outcome = await on.world.run(all.run(undefined, { id: "r" }));
    while (outcome.status === "suspended") {
      const { token, key } = outcome.waiting[0]!;
      outcome = (await on.world.run(all.resume(token, key))).outcome!;
    }
    const results = outputOf(outcome) as unknown[][];
    expect(results.map((one) => one.slice(1))).toEqual(texts.slice(0, 5).map((text) => [text, text.length]));
    expect(results[0]?.[0]).toBe("map[a%2Fb%231%5Bx%5D]/ok");
    expect((await all.get("r").entries()).length).toBeGreaterThan(20);
  });

  test("two equal ones are refused, with a short message", async () => {
    const on = lab();
    const long = "x".repeat(5_000);
    const twice = durable("twice", (ctx) => ctx.map([1, 2], () => 1, { key: () => long })).with(on);
    const outcome = await on.world.run(twice.run());
    expect(outcome).toMatchObject({ status: "failed", error: { code: "invalid-options" } });
    const { message } = (outcome as { error: Error }).error;
    expect(message).toMatch(/^Two items of ctx.map "map" have the key "x+\.\.\.\. Use unique keys\.$/);
    expect(message.length).toBeLessThan(400);
  });
});
