import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { picture, type Response } from "../../../packages/dashboard/test/support/chromium.ts";
import { Player } from "./player.ts";
import type { SiteVisit } from "./site.ts";

/** A person at the playground. */
export function playgroundTests(site: () => SiteVisit): void {
  const playground = (program: string): string => `${site().url}playground?program=${program}`;

  async function visit(program: string, byHand = true): Promise<Player> {
    return Player.open(await site().page(), playground(program), byHand);
  }

  test("results from the journal are marked, counted, and not paid again", async () => {
    const player = await visit("story");
    await player.press("Run");
    for (let n = 0; n < 2; n++) {
      await player.next();
      await player.reply();
    }
    expect(await player.next()).toBe("call");
    await player.crash();
    await picture(player.page, "playground-crashed");
    await player.press("Continue");
    await player.next();
    const marked = player.page.locator(".pg-entry:has(.pg-kept)");
    expect(await marked.evaluateAll((all) => all.map((one) => one.getAttribute("data-key")))).toEqual([
      "outline",
      "chapter",
    ]);
    expect(await player.count("From the journal")).toBe(2);
    expect(await player.page.locator('[data-count="From the journal"]').textContent()).toMatch(
      /\$0\.00[1-9]\d not paid/,
    );
    expect(await player.finish()).toBe("completed");
    expect(await player.count("Model calls")).toBe(5);
    await player.page.context().close();
  });

  test("a fork pays for what is new, and an edited output is what the rest sees", async () => {
    const player = await visit("story");
    const { page } = player;
    await player.press("Run");
    expect(await player.finish()).toBe("completed");
    await page.getByRole("button", { name: "Fork from here: chapter#2" }).click();
    expect(await player.finish()).toBe("completed");
    // The second chapter and the title.
    expect(await player.count("Model calls")).toBe(4 + 2);
    // The outline and the first chapter are not paid again.
    const costs = await page.locator(".pg-inherited .pg-cost").allTextContents();
    const spared = await page.locator('[data-count="From the journal"] .pg-note').textContent();
    const cents = (text: string | null): number => Number(/\$([\d.]+)/.exec(text ?? "")?.[1]);
    expect(costs).toHaveLength(2);
    expect(cents(spared)).toBeCloseTo(
      costs.reduce((sum, text) => sum + cents(text), 0),
      3,
    );
    expect(await page.locator(".pg-entry.pg-inherited[data-key]").count()).toBe(2);
    await page.getByRole("button", { name: "Edit this output: outline" }).click();
    await page.getByLabel("Another output of outline, as JSON").fill('"the fog, the bell"');
    await page.getByRole("button", { name: "Fork with this" }).click();
    expect(await player.finish()).toBe("completed");
    expect(await player.count("Model calls")).toBe(4 + 2 + 3);
    expect(await page.locator(".pg-edited").count()).toBe(1);
    // The parent is as it was, and all three are in the tree.
    expect(await page.locator(".pg-tree li").count()).toBe(3);
    expect(await page.locator(".pg-tree svg .pg-hollow").count()).toBe(2 + 1);
    await picture(page, "playground-forks");
    await page.reload();
    await player.ready();
    await page.locator(".pg-tree li").nth(2).waitFor();
    expect(await page.locator(".pg-tree li").allTextContents()).toEqual([
      "run-1 completed",
      "run-2 completed, fork of run-1",
      "run-3 completed, fork of run-2",
    ]);
    await page.context().close();
  });

  test("a link carries the program with its journal, and nothing runs before a button is pressed", async () => {
    const player = await visit("approval");
    await player.press("Run");
    expect(await player.finish()).toBe("waiting");
    const recorded = await player.entries();
    await player.press("Share");
    const link = await player.page.locator(".pg-link input").inputValue();
    expect(link.length).toBeLessThan(16_000);
    await player.page.context().close();

    const page = await site().page();
    const guest = new Player(page);
    await page.goto(link);
    await guest.ready();
    await page.locator("[data-wait=approve]").waitFor();
    expect(await guest.entries()).toEqual(recorded);
    expect(await guest.said()).toContain("came with a link");
    expect(await page.locator('[data-count="Workers"] dd').first().textContent()).toBe("0");
    await guest.press("Answer");
    await page.locator("[data-wait]").waitFor({ state: "detached" });
    expect(await guest.finish()).toBe("completed");
    expect(await guest.calls()).toBe(3);

    // A damaged link is refused, and the page works.
    await page.goto("about:blank");
    await page.goto(link.slice(0, -40));
    await guest.ready();
    await page.getByText("This link is damaged").waitFor();
    await page.context().close();
  });

  test("a program that never ends is crashed, one that cannot be compiled is explained", async () => {
    const player = await visit("story", false);
    await player.write(
      () =>
        'import { durable } from "@durable/core";\nexport default durable("loop", async (ctx) => { await ctx.step("a", () => 1); for (;;) {} });\n',
    );
    await player.press("Run");
    await player.crash();
    await player.write(() => "export default durable(;\n");
    await player.press("Run");
    const refusal = player.page.getByText(/Unexpected token/);
    await refusal.waitFor();
    expect(await refusal.count()).toBeGreaterThan(0);
    await player.page.context().close();
  });

  test("three guides have one, and it is a page to embed", async () => {
    for (const [guide, program] of [
      ["forking", "outline"],
      ["human-review", "draft"],
      ["undoing-work", "flight"],
    ] as const) {
      const page = await site().page();
      await page.goto(`${site().url}guides/write/${guide}`);
      await page.getByRole("button", { name: /Try it here/ }).click();
      const player = new Player(page);
      await player.ready();
      await page.locator(".pg").getByLabel("Answers").selectOption("by hand");
      await player.press("Run");
      expect(await player.next()).toBe("call");
      expect(await player.open()).toEqual([program]);
      await page.context().close();
    }
    const player = await Player.open(await site().page(), `${site().url}embed?program=saga`);
    await player.press("Run");
    expect(await player.finish()).toBe("failed");
    expect(await player.said()).toContain("no car left in Lisbon");
    await player.page.context().close();
  });

  test("the first page is light, and its playground comes after it", async () => {
    const page = await site().page();
    const responses: Response[] = [];
    page.on("response", (response) => responses.push(response));
    await page.goto(site().url, { waitUntil: "networkidle" });
    await page.locator(".pg .cm-content").waitFor();
    await page.waitForLoadState("networkidle");
    const kilobytes = (names: readonly (readonly [string, number])[]): number =>
      Math.round(names.reduce((sum, [, size]) => sum + size, 0) / 1_000);
    const all = await Promise.all(
      responses
        .filter((response) => response.url().startsWith(site().url))
        .map(async (response) => [response.url(), gzipSync(await response.body()).length] as const),
    );
    const code = all.filter(([url]) => /\/playground\.(?!md\.)[^/]*\.js$/.test(url));
    console.log(
      `first page: ${kilobytes(all)} kB gzipped in ${all.length} files, ${kilobytes(code)} kB of them the playground`,
    );
    expect(code).toHaveLength(1);
    expect(kilobytes(all) - kilobytes(code)).toBeLessThan(250);
    expect(kilobytes(code)).toBeLessThan(500);
    await page.context().close();
  });
}
