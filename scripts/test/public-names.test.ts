import { expect, it } from "vitest";
import { publicNames } from "../lib/public-names.ts";

const names = (source: string): string[] => publicNames(source).map(({ kind, name }) => `${kind} ${name}`);

it("tells values from types, under the name users see", () => {
  const source = [
    "/** export { hidden } from nowhere */",
    'export { b, type T, a as renamed, type U as V } from "./x.ts";',
    "export type {",
    "  W, // export { no }",
    '} from "./y.ts";',
    "export async function run(): Promise<void> {}",
    "export interface Port {}",
  ].join("\n");
  expect(names(source)).toEqual([
    "value b",
    "value renamed",
    "value run",
    "type Port",
    "type T",
    "type V",
    "type W",
  ]);
});

it.each(['export * from "./x.ts";', 'export * as x from "./x.ts";', 'export type * from "./x.ts";'])(
  "refuses %s",
  (line) => {
    expect(() => names(line)).toThrow("name every export");
  },
);
