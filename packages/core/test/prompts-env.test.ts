/** `DURABLE_PROMPTS` counts where an app does not say whether it keeps prompts. */

import { createApp, durable, MemoryStorage, type StepInfo } from "@durable/core";
import type { KeepsPrompt } from "@durable/core/storage";
import { afterEach, expect, test } from "vitest";

afterEach(() => void delete process.env["DURABLE_PROMPTS"]);

async function keeps(record: { readonly prompts?: boolean | undefined } | undefined): Promise<boolean> {
  const flow = durable("flow", (ctx) =>
    ctx.step("ask", (info) => {
      const asked = { add: [], hashes: [], about: "a" };
      (info as StepInfo & KeepsPrompt).keepPrompt(() => asked);
    }),
  );
  const app = createApp({ storage: new MemoryStorage(), workflows: [flow], bind: false, record });
  const run = await app.start(flow, undefined);
  await run.result();
  return (await run.entries()).some((entry) => "prompt" in entry);
}

test.each([
  [undefined, undefined, false],
  [undefined, {}, false],
  [undefined, { prompts: true }, true],
  ["1", undefined, true],
  ["1", {}, true],
  ["1", { prompts: undefined }, true],
  ["1", { prompts: false }, false],
  ["0", undefined, false],
  ["0", { prompts: true }, true],
] as const)("DURABLE_PROMPTS=%s with %o: %s", async (value, record, kept) => {
  if (value !== undefined) process.env["DURABLE_PROMPTS"] = value;
  expect(await keeps(record)).toBe(kept);
});
