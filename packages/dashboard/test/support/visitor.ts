/** A person in front of the page: one tab, and everything it asked the network for. */

import type { Browser, BrowserContext, Locator, Page } from "playwright-core";

export interface Look {
  readonly theme?: "light" | "dark";
  readonly width?: number;
  readonly height?: number;
  /** Without the policy of the page: what is left is the care with which it shows text. */
  readonly bypassCSP?: boolean;
}

/** Generous, because a busy machine takes several times as long as an idle one. */
const patienceMs = 120_000;
export const soon = { timeout: patienceMs };

/** Notices go after some seconds, which may be before a test looks that has to wait for its turn: they are kept. */
const keepNotices = `
  window.notices = new Set();
  new MutationObserver(() => {
    const text = document.querySelector(".notices p")?.textContent;
    if (text) window.notices.add(text);
  }).observe(document, { childList: true, subtree: true, characterData: true });`;

export class Visitor {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Requests to anywhere else than the dashboard. */
  readonly outside: string[] = [];
  readonly errors: string[] = [];

  private constructor(context: BrowserContext, page: Page, origin: string) {
    this.context = context;
    this.page = page;
    page.on("request", (request) => {
      const url = request.url();
      if (!url.startsWith(origin) && !url.startsWith("blob:") && !url.startsWith("file:"))
        this.outside.push(url);
    });
    page.on("pageerror", (error) => this.errors.push(error.message));
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") this.errors.push(message.text());
    });
  }

  static async open(browser: Browser, url: string, look: Look = {}): Promise<Visitor> {
    const { theme = "light", width = 1400, height = 900, bypassCSP = false } = look;
    const context = await browser.newContext({
      viewport: { width, height },
      colorScheme: theme,
      reducedMotion: "reduce",
      bypassCSP,
      permissions: ["clipboard-read", "clipboard-write"],
    });
    context.setDefaultTimeout(patienceMs);
    await context.addInitScript(keepNotices);
    const visitor = new Visitor(
      context,
      await context.newPage(),
      url.startsWith("file:") ? url : new URL(url).origin,
    );
    await visitor.page.goto(url);
    return visitor;
  }

  async go(path: string): Promise<void> {
    await this.page.goto(new URL(path, this.page.url()).href);
  }

  /** The path and the query of the address. */
  get place(): string {
    const { pathname, search } = new URL(this.page.url());
    return pathname + search;
  }

  button(name: string): Locator {
    return this.page.getByRole("button", { name, exact: true });
  }

  row(name: string): Locator {
    return this.page.getByRole("option", { name: new RegExp(`^\\w+ ${name}\\s*,`) });
  }

  /** Lines of the list, as "Status workflow id". */
  async lines(): Promise<string[]> {
    const rows = this.page.getByRole("grid", { name: "Runs" }).getByRole("row");
    const texts = await rows.evaluateAll((all) =>
      all.slice(1).map((row) =>
        [...row.children]
          .slice(1, 3)
          .map((cell) => (cell.querySelector(".name") ?? cell).textContent ?? "")
          .join(" "),
      ),
    );
    return texts.map((text) => text.trim());
  }

  /** Settles when the text is seen, or was in a notice. */
  async says(text: string | RegExp): Promise<void> {
    const seen = this.page.getByText(text).first().waitFor();
    const noticed = this.page.waitForFunction(
      (wanted) =>
        [...(window as unknown as { notices: Set<string> }).notices].some((notice) =>
          typeof wanted === "string" ? notice.includes(wanted) : wanted.test(notice),
        ),
      text,
      { polling: 1_000 },
    );
    // What was not seen says where it was looked for.
    await Promise.any([seen, noticed]).catch(() => seen);
  }

  /** The status in the head of a run. */
  async status(text: string): Promise<void> {
    await this.page.locator(".run > .head .st", { hasText: text }).waitFor();
  }

  /** Waits until the view shows what it is about. */
  async settled(): Promise<void> {
    await this.page.locator("main .card, main .empty").first().waitFor();
    await this.page.waitForLoadState("load");
    await this.page.waitForFunction(
      () => !/(?:Reading the|Comparing|Opening)…?/.test(document.querySelector("main")?.textContent ?? ""),
    );
    // What comes after the first answer: lines of the list, details of a call.
    await this.page.waitForTimeout(400);
  }

  /** Nothing sticks out to the right. */
  async fits(): Promise<boolean> {
    return this.page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth);
  }

  /** The texts of these elements that are not seen whole. */
  async cut(path: string): Promise<string[]> {
    return this.page.evaluate(
      (all) =>
        [...document.querySelectorAll(all)]
          .filter((each) =>
            [each, each.parentElement ?? each].some(
              (box) => box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1,
            ),
          )
          .map(({ textContent }) => textContent ?? ""),
      path,
    );
  }

  /** Names on axes and in trees that stand on each other, or are cut. */
  async overlaps(): Promise<string[]> {
    return this.page.evaluate(() => {
      const found: string[] = [];
      for (const line of document.querySelectorAll(".axis .scale, .tree g:has(> a), .chart-days")) {
        const names = [...line.querySelectorAll("span:not(small span), em, b, small, text.s")].filter(
          (each) => each.checkVisibility({ visibilityProperty: true }) && each.textContent?.trim() !== "",
        );
        const boxes = names.map((each) => {
          const range = document.createRange();
          range.selectNodeContents(each);
          return range.getBoundingClientRect();
        });
        for (const [i, one] of names.entries()) {
          const [text, box] = [one.textContent, boxes[i]!];
          if (getComputedStyle(one).overflowX === "hidden" && one.scrollWidth > one.clientWidth)
            found.push(`${text} is cut`);
          for (const [j, { left, right, top }] of boxes.entries())
            if (j > i && left < box.right + 1 && box.left < right + 1 && Math.abs(top - box.top) < 8)
              found.push(`${text} and ${names[j]?.textContent}`);
        }
      }
      return found;
    });
  }

  /** Throws if the page asked another host for something, or reported an error. */
  async close(): Promise<void> {
    await this.context.close();
    const problems = [...this.outside.map((url) => `asked ${url}`), ...this.errors];
    if (problems.length > 0) throw new Error(`The page should be quiet: ${problems.join("; ")}`);
  }
}
