import type { Page } from "../../../packages/dashboard/test/support/chromium.ts";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { run, root } from "../../../scripts/lib/workspace.ts";
import { questions } from "./questions.ts";
import { dist, type SiteVisit } from "./site.ts";

const html = (): string[] =>
  readdirSync(dist, { recursive: true, encoding: "utf8" })
    .map((name) => name.replaceAll("\\", "/"))
    .filter((name) => name.endsWith(".html"));

/** The built files: types, links, and what they name. */
export function fileTests(): void {
  test("types of the site and of the playground are right", () => {
    expect(run("tsc", ["-p", join(root, "site", "tsconfig.json")])).toBe(true);
  });

  test("every link leads to a page or a file of the site, and every anchor to a heading", () => {
    const pages = new Map(html().map((name) => [name, readFileSync(join(dist, name), "utf8")]));
    const files = new Set(
      readdirSync(dist, { recursive: true, encoding: "utf8" }).map((name) => name.replaceAll("\\", "/")),
    );
    const idsOf = new Map(
      [...pages].map(([name, text]) => [
        name,
        new Set([...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)),
      ]),
    );
    const problems: string[] = [];
    let checked = 0;
    for (const [name, text] of pages)
      for (const [, target = ""] of text.matchAll(/ (?:href|src)="([^"]+)"/g)) {
        if (/^(?:https?:|mailto:|data:)/.test(target)) continue;
        checked += 1;
        const { pathname, hash } = new URL(
          target.replaceAll("&amp;", "&"),
          `http://site/${name.replace(/\.html$/, "")}`,
        );
        const path = decodeURIComponent(pathname.slice(1));
        const found = [path, `${path}.html`, `${path}index.html`, `${path}/index.html`].find(
          (file) => files.has(file) && !(file === ""),
        );
        const anchor = decodeURIComponent(hash.slice(1));
        if (found === undefined) problems.push(`${name}: ${target}`);
        else if (anchor !== "" && idsOf.get(found)?.has(anchor) === false)
          problems.push(`${name}: ${target} has no such anchor`);
      }
    expect(problems).toEqual([]);
    expect(checked).toBeGreaterThan(10_000);
    expect(pages.size).toBeGreaterThan(150);
  });

  test("no page names a script, a style, a font or a picture of another site", () => {
    for (const name of html()) {
      const text = readFileSync(join(dist, name), "utf8");
      const tags = text.match(/<(?:script|link|img|iframe|source|video|audio)\b[^>]*>/g) ?? [];
      expect(
        tags.filter((tag) => /(?:src|href)="(?:https?:)?\/\//.test(tag)),
        name,
      ).toEqual([]);
      expect(text, name).toMatch(
        /<meta http-equiv="Content-Security-Policy" content="default-src 'self'; [^"]*connect-src 'none'/,
      );
    }
  });
}

/** The pages in a browser: the search. */
export function pageTests(site: () => SiteVisit): void {
  async function search(page: Page, question: string): Promise<string[]> {
    const input = page.locator(".VPLocalSearchBox input");
    await input.fill("");
    await page.waitForFunction(() => document.querySelectorAll(".VPLocalSearchBox .result").length === 0);
    await input.fill(question);
    await page.locator(".VPLocalSearchBox .result").first().waitFor();
    const links = await page
      .locator(".VPLocalSearchBox .result")
      .evaluateAll((all) => all.slice(0, 3).map((one) => one.getAttribute("href") ?? ""));
    return links.map((link) => link.replace(/#.*$/, ""));
  }

  test("the search answers the questions of a newcomer in its first three results", async () => {
    const page = await site().page();
    await page.goto(`${site().url}docs`);
    await page.locator(".DocSearch-Button").first().click();
    const missed: string[] = [];
    for (const [question, wanted] of questions) {
      const found = await search(page, question);
      if (!found.includes(wanted)) missed.push(`${question}: ${found.join(", ")}, not ${wanted}`);
    }
    expect(missed).toEqual([]);
    expect(questions).toHaveLength(20);
    await page.context().close();
  });
}
