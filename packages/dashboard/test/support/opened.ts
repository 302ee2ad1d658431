/** A browser and a dashboard over an app, for the tests of one file. */

import type { App } from "@durable/core";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import { type DashboardServer, serveDashboard, type ServeDashboardOptions } from "../../src/node/index.ts";
import { openBrowser } from "./chromium.ts";
import { type Look, Visitor } from "./visitor.ts";

export interface Opened {
  readonly app: App;
  readonly visit: (path?: string, look?: Look) => Promise<Visitor>;
}

/** Call inside `describe`; what it returns is there once the tests run. */
export function opened(
  make: () => Promise<App> | App,
  options: Partial<ServeDashboardOptions> = {},
): { readonly current: Opened } {
  const held: { current: Opened } = { current: undefined as never };
  let browser: Browser | undefined;
  let site: DashboardServer | undefined;
  beforeAll(async () => {
    const [app, window] = await Promise.all([make(), openBrowser()]);
    browser = window;
    const server = await serveDashboard({ app, port: 0, ...options });
    site = server;
    const token = new URL(server.url).hash;
    held.current = {
      app,
      visit: (path = "/", look = {}) => Visitor.open(window, `${server.origin}${path}${token}`, look),
    };
  });
  afterAll(async () => {
    await browser?.close();
    await site?.close();
    await held.current?.app.close();
  });
  return held;
}
