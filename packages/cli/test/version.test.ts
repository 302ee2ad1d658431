import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { oldNode, packageFolder } from "../src/version.ts";

test("a Node that is too old is told so, and the limit is that of the package", () => {
  const { engines } = JSON.parse(readFileSync(new URL("package.json", packageFolder()), "utf8")) as {
    readonly engines: { readonly node: string };
  };
  const oldest = engines.node.replace(">=", "");
  expect(["20.20.2", "18.0.0", "22.12.9"].map(oldNode)).toEqual([
    expect.stringContaining(`this is Node 20.20.2. Use ${oldest} or newer`),
    expect.stringContaining("Node 18.0.0"),
    expect.stringContaining("Node 22.12.9"),
  ]);
  expect([`${oldest}.0`, "22.18.0", "24.0.0", "26.10.0"].map(oldNode)).toEqual([null, null, null, null]);
});
