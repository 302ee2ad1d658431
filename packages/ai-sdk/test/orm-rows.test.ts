import { expect, test, vi } from "vitest";
import { durableTools } from "../src/index.ts";
import { Lab } from "./support/lab.ts";

class Decimal {
  readonly #digits: string;
  constructor(digits: string) {
    this.#digits = digits;
  }
  toJSON(): string {
    return this.#digits;
  }
}

class Model {
  readonly id = 7;
  save(): void {}
}

const rows: readonly (readonly [string, unknown])[] = [
  ["a Decimal in a row", { id: 1, price: new Decimal("9.50"), tags: ["a"] }],
  ["a document with methods", new Model()],
  ["an object with a function", { name: "x", render: () => "x" }],
  ["a list of them", [new Decimal("1"), new Model(), undefined]],
  ["a date inside a class", Object.assign(new Model(), { at: new Date(0) })],
];

test.each(rows)("%s is what the plain SDK would tell the model, in every life", async (_, row) => {
  const lab = new Lab();
  const execute = vi.fn<() => unknown>(() => row);
  const warned = vi.spyOn(console, "warn").mockImplementation(() => {});
  const seen: unknown[] = [];
  const life = (): Promise<unknown> =>
    lab.drive(async (ctx) => {
      const { find } = durableTools(ctx, { find: { execute } });
      const call = find.execute as unknown as (input: unknown, given: object) => Promise<unknown>;
      seen.push(await call({}, { toolCallId: "c1", messages: [] }));
      await ctx.sleep("1 day");
    });
  await life();
  const warnings = warned.mock.calls.flat().filter((line) => String(line).includes('tool "find"'));
  await life();
  warned.mockRestore();
  const plain: unknown = JSON.parse(JSON.stringify(row));
  expect(seen).toEqual([plain, plain]);
  expect(execute).toHaveBeenCalledOnce();
  expect(warnings).toHaveLength(1);
});
