import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

/** Types that are options although their names do not say so. */
const others = ["Credentials", "BucketQuery", "ListQuery"];

test("undefined-options.test-d.ts has every exported options type", () => {
  const read = (name: string): string => readFileSync(new URL(name, import.meta.url), "utf8");
  const exported = read("../exports.snapshot.txt")
    .split("\n")
    .flatMap((line) => /^(\S+) +type +(\w+)$/.exec(line)?.slice(1, 3).join(" ") ?? [])
    .filter((line) => line.endsWith("Options") || others.includes(line.split(" ")[1] ?? ""));
  const checked = [
    ...read("undefined-options.test-d.ts").matchAll(/^import type \{([^}]*)\} from "(.*)";/gm),
  ];
  const listed = checked.flatMap(([, names = "", from]) =>
    names.split(",").map((name) => `${from} ${name.trim().split(" as ")[0]}`),
  );
  expect(exported.length).toBeGreaterThan(50);
  expect(exported.filter((name) => !listed.includes(name))).toEqual([]);
});
