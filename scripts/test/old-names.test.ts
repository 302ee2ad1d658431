/** Old names are refused with the new one, and no source or page has them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createApp, durable, MemoryStorage } from "@durable/core";
import { assertOptions } from "@durable/core/storage";
import { expect, test } from "vitest";
import { renamedOptions } from "../../packages/core/src/values/renamed.ts";
import { oldNames } from "../lib/old-names.ts";
import { capture, root } from "../lib/workspace.ts";

test.each(Object.entries(renamedOptions))("%s is refused with its new name", (old, now) => {
  for (const name of now.split(" "))
    expect(() => assertOptions({ [old]: 1 }, name, "This call")).toThrow(
      `This call has no option "${old}". It is called "${name}" now.`,
    );
});

test("also where a user meets them", () => {
  const storage = new MemoryStorage();
  expect(() => createApp({ storage, workflows: [], limits: {} } as never)).toThrow(
    'createApp has no option "limits". It is called "quotas" now.',
  );
  const flow = durable("old", (ctx) => ctx.step("s", () => 1, { limit: "x" } as never), { storage });
  return expect(flow.run()).resolves.toMatchObject({
    error: { message: expect.stringContaining('It is called "quota" now.') as string },
  });
});

/** Where the old names are listed, or said to be gone. */
/** Among them pages that show the code of other systems. */
const exempt =
  /^(?:CHANGELOG\.md|scripts\/(?:lib|test)\/old-names(?:\.test)?\.ts|docs\/coming-from\/\w+[-\w]*\.md|packages\/core\/src\/values\/renamed\.ts)$|wrong-uses\.test-d/;

test("no source and no page has an old name", () => {
  const files = capture("git", ["ls-files", "*.ts", "*.tsx", "*.md"], { cwd: root })
    .stdout.trim()
    .split("\n");
  const found = files
    .filter((file) => !exempt.test(file))
    .flatMap((file) => {
      const text = readFileSync(join(root, file), "utf8");
      return oldNames
        .filter(({ sign }) => sign.test(text))
        .map(({ old, now }) => `${file}: ${old} is ${now}`);
    });
  expect(found).toEqual([]);
});
