/** docs/security.md has a row for every route and tool, made from the routers. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { toolsOf } from "../../packages/cli/src/mcp/tools.ts";
import { actions } from "../../packages/cli/src/mcp/writers.ts";
import { actionsTable, withActions } from "../lib/actions-table.ts";
import { root } from "../lib/workspace.ts";

it("has the actions of today; npm run docs:reference writes them", () => {
  const page = readFileSync(join(root, "docs", "security.md"), "utf8");
  expect(page).toBe(withActions(page));
});

it("has an action for every route and tool, except answers by token, the exchange of the token and the log-out", () => {
  const rows = actionsTable().trim().split("\n").slice(2);
  const without = rows.filter((row) => !/\| `[a-z]+`/.test(row.replace(/^\| \w+ \| `[^`]*`/, "")));
  expect(without.map((row) => /`([^`]*)`/.exec(row)?.[1])).toEqual([
    "GET /resume/{token}",
    "POST /resume/{token}",
    "POST /api/session",
    "DELETE /api/session",
  ]);
});

it("offers a tool that changes something only where --allow names its action", () => {
  const offered = (allowed: readonly (typeof actions)[number][]) =>
    toolsOf({} as Parameters<typeof toolsOf>[0], new Set(allowed), () => 0);
  const readers = offered([]);
  expect(
    readers.filter(({ readOnly, asks }) => !readOnly || !["read", "list", "describe"].includes(asks)),
  ).toEqual([]);
  for (const action of actions)
    expect(offered([action]).slice(readers.length)).toMatchObject([{ asks: action, readOnly: false }]);
});
