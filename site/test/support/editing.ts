import { expect, test } from "vitest";
import { Player } from "./player.ts";
import type { SiteVisit } from "./site.ts";

/** What the editor offers at the end of a text, and what is in it. */
const offers: readonly (readonly [text: string, offered: readonly string[], not: readonly string[]])[] = [
  ["import { du", ["durable", "durableBudget"], ["ask"]],
  ['import { durable, Fat } from "@durable/core";\nctx.su', ["suspend"], ["attempt"]],
  ["ctx.step('a', (info) => info.", ["attempt", "signal", "idempotencyKey"], ["step"]],
  ["ctx.step('a', () => 1, { ", ["retry", "timeout", "compensate"], ["byContent", "note"]],
  ["c.step('a', () => 1, { timeout: 5, retry: { ", ["attempts", "delay"], ["timeout"]],
  ["ctx.suspend<boolean>('a', { note: 1, ", ["timeout", "fallback"], ["note", "retry"]],
  ["ask('a', info, { ", ["model", "slowness"], ["retry"]],
  ['import { FatalError } from "@durable/core";\nthrow new Fa', ["FatalError"], ["RetryError"]],
  ["new RetryError('later', { ", ["after"], ["retry"]],
];

/** The editor, and orders that are refused. */
export function editingTests(site: () => SiteVisit): void {
  test("the editor offers the names, members and options of core where they can stand", async () => {
    const page = await site().page();
    const player = await Player.open(page, `${site().url}playground?program=story`);
    for (const [text, offered, not] of offers) {
      await player.write(() => text);
      await page.keyboard.press("Control+Space");
      await page
        .locator(".cm-tooltip-autocomplete li")
        .first()
        .waitFor()
        .catch(() => expect.fail(`Nothing is offered after ${text}`));
      const labels = await page.locator(".cm-completionLabel").allTextContents();
      expect(labels, text).toEqual(expect.arrayContaining([...offered]));
      for (const label of not) expect(labels, text).not.toContain(label);
      await page.keyboard.press("Escape");
    }
    await page.context().close();
  });

  test("a fork that is refused is explained, and the run before it is shown again", async () => {
    const page = await site().page();
    const player = await Player.open(page, `${site().url}playground?program=story`);
    await player.press("Run");
    expect(await player.finish()).toBe("completed");
    await player.edit("title", "{ no JSON");
    await page.locator(".pg-say", { hasText: "JSON" }).waitFor();
    expect(await player.next()).toBe("completed");
    expect(await page.locator(".pg-tree li").allTextContents()).toEqual(["run-1 completed"]);
    // The next one has the number that was free.
    await player.edit("title", '"Fog"');
    expect(await player.finish()).toBe("completed");
    expect(await page.locator(".pg-tree li").count()).toBe(2);
    expect(await player.count("Model calls")).toBe(4);

    // A program that cannot be compiled begins no run.
    await player.write(() => "export default durable(;\n");
    await player.press("Run");
    await page.getByText(/Unexpected token/).waitFor();
    expect(await page.locator(".pg-tree li").count()).toBe(2);
    await page.context().close();
  });
}
