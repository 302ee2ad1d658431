/** A real browser: the Chromium of the machine, without a window. */

import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { chromium, type Browser, type Page } from "playwright-core";

export type { Browser, BrowserContext, Locator, Page, Response } from "playwright-core";

const places = [
  process.env["CHROMIUM"] ?? "",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

const path = places.find((place) => place !== "" && existsSync(place));

/**
 * Why tests in a browser are left out; `null` when they run. On a machine that checks changes they are never left out.
 */
export const skipReason =
  path !== undefined || process.env["CI"] !== undefined
    ? null
    : "packages/dashboard: no Chromium found, so tests in a browser are left out. Install it (apt-get install chromium), or set CHROMIUM to its path.";

if (skipReason !== null)
  process.stderr.write(`${skipReason}
`);

/** Generous, because a busy machine takes several times as long as an idle one. */
const patienceMs = 120_000;

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

/** For people who look: `SCREENSHOTS=<folder>` keeps pictures of what the tests saw. */
export async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env["SCREENSHOTS"];
  if (folder === undefined || folder === "") return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`) });
}
