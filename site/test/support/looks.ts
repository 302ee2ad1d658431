import { expect, test } from "vitest";
import { axeProblems } from "../../../packages/dashboard/test/support/axe.ts";
import { type Page, picture } from "../../../packages/dashboard/test/support/chromium.ts";
import { Player } from "./player.ts";
import type { SiteVisit } from "./site.ts";

const looks = (["light", "dark"] as const).flatMap((colorScheme) =>
  [1280, 390].map((width) => ({ colorScheme, width })),
);

/** Pages and states of the playground as they look: axe finds nothing, and nothing stands out at the side. */
export function lookTests(site: () => SiteVisit): void {
  test.each(looks)("axe finds nothing on pages of each kind, $colorScheme, $width wide", async (look) => {
    const { page, see, found } = await open(look);
    for (const path of ["docs", "guides/write/human-review", "reference/core-remote", "comparison"]) {
      await page.goto(site().url + path);
      await page.locator(".VPContent").waitFor();
      await see(path.replaceAll("/", "-"));
    }
    // Where there is no page, the theme looks for a newer list of pages, which the policy refuses.
    const lost = await open(look, []);
    await lost.page.goto(`${site().url}404`);
    await lost.page.locator(".VPContent").waitFor();
    await lost.see("404");
    expect(lost.found).toEqual([]);
    await lost.page.context().close();
    await page.goto(`${site().url}docs`);
    await page.locator(".DocSearch-Button").first().click();
    await page.locator(".VPLocalSearchBox input").fill("How do I fork a run?");
    await page.locator(".VPLocalSearchBox .result").first().waitFor();
    await see("search");
    expect(found).toEqual([]);
    await page.context().close();
  });

  test.each(looks)("axe finds nothing in the playground, $colorScheme, $width wide", async (look) => {
    const { page, see, found } = await open(look);
    const player = await Player.open(page, site().url);
    await see("first");
    await player.press("Run");
    expect(await player.afterReplies(1)).toBe("call");
    await see("running");
    await player.crash();
    await see("crashed");
    await player.press("Continue");
    expect(await player.toTheEnd()).toBe("completed");
    await player.press("Edit this output: chapter");
    await see("edit");
    await player.press("Fork with this");
    expect(await player.toTheEnd()).toBe("completed");
    await player.press("Fork from here: chapter#2");
    expect(await player.toTheEnd()).toBe("completed");
    await see("forks");
    await player.press("Share");
    await page.locator(".pg-link input").waitFor();
    await see("shared");
    expect(found).toEqual([]);
    await page.context().close();
  });

  test.each(looks)("axe finds nothing in one that waits, $colorScheme, $width wide", async (look) => {
    const { page, see, found } = await open(look);
    const player = await Player.open(page, `${site().url}playground?program=approval`);
    await player.press("Run");
    expect(await player.finish()).toBe("waiting");
    await see("waiting");
    await player.write((code) => code.replace('"approve"', '"permit"'));
    await player.press("Answer");
    await page.locator('[data-state="blocked"]').waitFor();
    await see("blocked");
    await page.goto(`${site().url}guides/write/undoing-work`);
    await page.getByRole("button", { name: /Try it here/ }).click();
    await player.ready();
    await player.page.locator(".pg").getByLabel("Answers").selectOption("by hand");
    await player.press("Run");
    expect(await player.afterReplies(1)).toBe("call");
    await player.page.locator(".pg").scrollIntoViewIfNeeded();
    await see("guide");
    await page.goto(`${site().url}embed?program=race`);
    await player.ready();
    await see("embed");
    expect(found).toEqual([]);
    await page.context().close();
  });

  async function open(
    { colorScheme, width }: (typeof looks)[number],
    errors?: string[],
  ): Promise<{
    readonly page: Page;
    readonly found: string[];
    readonly see: (name: string) => Promise<void>;
  }> {
    const page = await site().page({ colorScheme, viewport: { width, height: 900 } }, errors);
    const found: string[] = [];
    const see = async (name: string): Promise<void> => {
      await picture(page, `${name}-${colorScheme}-${width}`);
      const problems = await axeProblems(page);
      const isWide = await page.evaluate<boolean>("document.documentElement.scrollWidth > innerWidth");
      found.push(
        ...[...problems, ...(isWide ? ["wider than the window"] : [])].map((one) => `${name}: ${one}`),
      );
    };
    return { page, found, see };
  }
}
