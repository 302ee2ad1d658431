/** The site, built from the sources and served, and a browser that may reach nothing else. */
import { join } from "node:path";
import {
  openBrowser,
  type Browser,
  type BrowserContext,
  type Page,
} from "../../../packages/dashboard/test/support/chromium.ts";
import { serveSite, type SiteServer } from "../../../scripts/lib/site-server.ts";
import { root, run } from "../../../scripts/lib/workspace.ts";

/** For people who work on the tests: `SITE_BUILT=<folder>` is tested as it is. */
const built = process.env["SITE_BUILT"];

export const dist = built ?? join(root, "site", "dist");

/** Installs the packages of the site if they are not there, and builds it: once for all test files of a run. */
export function buildSite(): void {
  if (built !== undefined) return;
  const script = join(root, "scripts", "site.ts");
  if (!run("node", ["--conditions=durable-source", script, "--build"]))
    throw new Error("The site was not built.");
}

export class SiteVisit {
  /** Requests that left the site, or that the policy refused. There must be none. */
  readonly strangers: string[] = [];
  /** Errors in pages, with refusals of the policy. */
  readonly errors: string[] = [];
  readonly server: SiteServer;
  readonly browser: Browser;

  private constructor(server: SiteServer, browser: Browser) {
    this.server = server;
    this.browser = browser;
  }

  static async open(): Promise<SiteVisit> {
    return new SiteVisit(await serveSite(dist, 0), await openBrowser());
  }

  get url(): string {
    return this.server.url;
  }

  async context(options: Parameters<Browser["newContext"]>[0] = {}): Promise<BrowserContext> {
    const context = await this.browser.newContext({ reducedMotion: "reduce", ...options });
    context.setDefaultTimeout(120_000);
    await context.route("**/*", async (route) => {
      const url = route.request().url();
      if (url.startsWith(this.url) || /^(?:blob|data):/.test(url)) return route.continue();
      this.strangers.push(url);
      return route.abort();
    });
    return context;
  }

  /** A page of its own. Its errors go to the list that must stay empty, or to that of a test that provokes some. */
  async page(
    options: Parameters<Browser["newContext"]>[0] = {},
    errors: string[] = this.errors,
  ): Promise<Page> {
    const page = await (await this.context(options)).newPage();
    page.on("pageerror", (error) => errors.push(error.message));
    page.on("console", (message) => {
      if (message.type() === "error") errors.push(message.text());
    });
    return page;
  }

  async close(): Promise<void> {
    await this.browser.close();
    await this.server.close();
  }
}
