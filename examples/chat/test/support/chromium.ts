/** A real browser: the Chromium of the machine, without a window. */

import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { chromium, type Browser, type BrowserContext, type Page } from "playwright-core";

const places = [
  process.env["CHROMIUM"] ?? "",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

const path = places.find((place) => place !== "" && existsSync(place));

export const hasChromium = path !== undefined;

export const missing =
  "examples/chat: no Chromium found, so test/page.test.ts is left out. Install it (apt-get install chromium), or set CHROMIUM to its path.\n";

/** Generous, because a busy machine takes several times as long as an idle one. */
const patienceMs = 60_000;

const flags =
  "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync";

export function openBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: path ?? "",
    headless: true,
    args: flags.split(" "),
    timeout: patienceMs,
  });
}

/** Tabs that share storage and channels, as those of one user. */
export async function openUser(browser: Browser): Promise<BrowserContext> {
  // Without animations, which cost more here than everything else.
  const context = await browser.newContext({
    viewport: wide,
    reducedMotion: "reduce",
  });
  context.setDefaultTimeout(patienceMs);
  return context;
}

const wide = { width: 900, height: 760 };
const narrow = { width: 390, height: 760 };

/** For people who look: `SCREENSHOTS=<folder>` keeps pictures of what the tests saw, light, dark and narrow. */
export async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env["SCREENSHOTS"];
  if (folder === undefined || folder === "") return;
  mkdirSync(folder, { recursive: true });
  const take = (look: string): Promise<unknown> =>
    page.screenshot({ path: join(folder, `${name}${look}.png`) });
  await take("");
  await page.emulateMedia({ colorScheme: "dark" });
  await take("-dark");
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize(narrow);
  await take("-narrow");
  await page.setViewportSize(wide);
}
