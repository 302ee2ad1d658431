/** Random sequences of a hostile tenant over every route and tool: nothing of the other tenant is seen or changed. */
import type { Action } from "@durable/core";
import { expect, inject, test } from "vitest";
import { attackTwoTenants } from "../lib/two-tenants.ts";
import { byPrefix } from "../../packages/http/test/support/policies.ts";

const full = inject("full");
const count = full ? 300 : 20;

test("a hostile tenant sees, changes and answers nothing of the other", async () => {
  const { tried, ends, problems } = await attackTwoTenants({ count, seed: 180 });
  expect(problems).toEqual([]);
  expect(tried).toBe(count);
  for (const end of ["200", "202", "403", "chat 200", "chat 403", "chat 409"])
    expect(ends[end] ?? 0, end).toBeGreaterThan(0);
  // The agent uses every tool in the long test.
  if (full)
    for (const tool of [
      "resume_run",
      "fork_run",
      "wake_run",
      "cancel_run",
      "pause_run",
      "unpause_run",
      "send_message",
    ])
      expect(ends[`${tool} done`] ?? 0, tool).toBeGreaterThan(0);
});

// Sequences that failed: 71110, a request to a chat that another one deletes, found out by its append.
test.each([71_110])("a sequence that failed before, seed %i", async (seed) => {
  expect((await attackTwoTenants({ count: 1, seed })).problems).toEqual([]);
});

const broken: Readonly<Record<string, (action: Action) => boolean>> = {
  "every run may be read": ({ type }) => type === "read",
  "every run may be cancelled": ({ type }) => type === "cancel",
  "every edit answers": ({ type }) => type === "resume" || type === "send",
  "every chat may be written to and seen": ({ chatId }) => chatId !== undefined,
  "counts and schedules are for all": ({ type }) => type === "overview" || type === "schedules",
};
test.runIf(full).each(Object.entries(broken))("the model notices a broken rule: %s", async (_, allows) => {
  const { problems } = await attackTwoTenants({
    count: 300,
    seed: 1,
    authorize: (request, action) => allows(action) || (action.type !== "tokens" && byPrefix(request, action)),
  });
  expect(problems).not.toEqual([]);
});
