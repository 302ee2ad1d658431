import * as v from "valibot";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { toJsonSchema, validate, type SchemaIssue, type StandardSchema } from "../../src/values/schema.ts";

/** A schema of no library, as small as the standard allows. */
function schemaOf(
  check: (value: unknown) => unknown,
  jsonSchema?: (options: { target: string }) => unknown,
): StandardSchema {
  const standard = {
    version: 1,
    vendor: "test",
    validate: check,
    ...(jsonSchema ? { jsonSchema: { input: jsonSchema } } : {}),
  };
  return { "~standard": standard } as unknown as StandardSchema;
}
const issuesOf = async (...issues: SchemaIssue[]): Promise<unknown> =>
  validate(
    schemaOf(() => ({ issues })),
    1,
  );

const ofValue = (value: unknown): unknown =>
  toJsonSchema(
    schemaOf(
      () => ({ value: 1 }),
      () => value,
    ),
  );

const loans = {
  zod: z.object({ amount: z.number().min(1), who: z.object({ names: z.array(z.string()) }) }),
  valibot: v.object({
    amount: v.pipe(v.number(), v.minValue(1)),
    who: v.object({ names: v.array(v.string()) }),
  }),
} satisfies Record<string, StandardSchema>;

describe("validate", () => {
  it.each(["zod", "valibot"] as const)(
    "%s: gives the value, or issues that name their place",
    async (library) => {
      const schema = loans[library];
      const good = { amount: 5, who: { names: ["Ada"] } };
      expect(await validate(schema, good)).toEqual({ ok: true, value: good });
      const bad = await validate(schema, { amount: "x", who: { names: ["Ada", 7] } });
      expect(bad).toMatchObject({ ok: false });
      const { issues } = bad as { issues: string };
      expect(issues.split("; ")).toHaveLength(2);
      expect(issues).toMatch(/(^|; )amount: .*number/);
      expect(issues).toMatch(/(^|; )who\.names\.1: .*string/);
      expect(await validate(schema, { ...good, amount: 0 })).toMatchObject({ ok: false });
      expect(await validate(schema, null)).toMatchObject({ ok: false });
    },
  );

  it("gives what the schema makes of the value, not the value", async () => {
    const trimmed = z.object({ name: z.string().trim(), count: z.coerce.number().default(3) });
    expect(await validate(trimmed, { name: " Ada ", extra: 1 })).toEqual({
      ok: true,
      value: { name: "Ada", count: 3 },
    });
    const length = v.pipe(
      v.string(),
      v.transform((text) => text.length),
    );
    expect(await validate(length, "four")).toEqual({ ok: true, value: 4 });
    expect(await validate(z.undefined(), undefined)).toEqual({ ok: true, value: undefined });
    expect(await validate(z.null(), null)).toEqual({ ok: true, value: null });
  });

  it("waits for schemas that take time", async () => {
    const known = z.string().refine(async (id) => id === "r-1", "no such run");
    expect(await validate(known, "r-1")).toEqual({ ok: true, value: "r-1" });
    expect(await validate(known, "r-2")).toEqual({ ok: false, issues: "no such run" });
    const doubled = v.pipeAsync(
      v.number(),
      v.transformAsync(async (n) => n * 2),
    );
    expect(await validate(doubled, 4)).toEqual({ ok: true, value: 8 });
  });

  it("writes paths of keys, numbers, symbols and path segments", async () => {
    expect(await issuesOf({ message: "bad" })).toEqual({ ok: false, issues: "bad" });
    expect(await issuesOf({ message: "bad", path: [] })).toEqual({ ok: false, issues: "bad" });
    const path = ["list", 0, { key: "name" }, Symbol("s"), { key: 7 }];
    expect(await issuesOf({ message: "bad", path })).toEqual({
      ok: false,
      issues: "list.0.name.Symbol(s).7: bad",
    });
    const two = await issuesOf({ message: "a", path: ["x"] }, { message: "b" });
    expect(two).toEqual({ ok: false, issues: "x: a; b" });
  });

  it("lets a schema that throws or rejects say so itself", async () => {
    const boom = new Error("boom");
    const throwing = schemaOf(() => {
      throw boom;
    });
    await expect(validate(throwing, 1)).rejects.toBe(boom);
    await expect(
      validate(
        schemaOf(() => Promise.reject(boom)),
        1,
      ),
    ).rejects.toBe(boom);
  });
});

describe("toJsonSchema", () => {
  it("comes from zod, in the 2020-12 draft, for what goes in", () => {
    expect(toJsonSchema(loans.zod)).toMatchObject({
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: { amount: { type: "number", minimum: 1 } },
      required: ["amount", "who"],
    });
    expect(toJsonSchema(z.string().transform((text) => text.length))).toMatchObject({ type: "string" });
    let asked: unknown;
    toJsonSchema(
      schemaOf(
        () => ({ value: 1 }),
        (options) => (asked = options),
      ),
    );
    expect(asked).toEqual({ target: "draft-2020-12" });
  });

  it("is null where a library has none, or has none for this schema", () => {
    expect(toJsonSchema(undefined)).toBeNull();
    expect(toJsonSchema(loans.valibot)).toBeNull();
    expect(toJsonSchema(z.object({ when: z.date() }))).toBeNull();
    expect(toJsonSchema(z.bigint())).toBeNull();
    expect(
      toJsonSchema(
        schemaOf(
          () => ({ value: 1 }),
          () => undefined,
        ),
      ),
    ).toBeNull();
    expect(toJsonSchema({} as StandardSchema)).toBeNull();
    const throwing = schemaOf(
      () => ({ value: 1 }),
      () => {
        throw new Error("no");
      },
    );
    expect(toJsonSchema(throwing)).toBeNull();
  });

  it("is JSON and nothing else: it is written into an entry as it is", () => {
    const cyclic: Record<string, unknown> = { type: "object" };
    cyclic["self"] = cyclic;
    expect(ofValue(cyclic)).toBeNull();
    expect(ofValue({ default: 5n })).toBeNull();
    expect(ofValue(() => 1)).toBeNull();
    expect(ofValue({ type: "string", check: () => 1, at: new Date(0) })).toEqual({
      type: "string",
      at: "1970-01-01T00:00:00.000Z",
    });
    const given = { type: "string" };
    expect(ofValue(given)).not.toBe(given);
  });
});
