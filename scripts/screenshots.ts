/**
 * Pictures of the dashboard, made by driving the real one in Chromium over journals that the examples write:
 *
 *     npm run docs:screenshots                     the pictures of the documentation, in docs/images
 *     npm run docs:screenshots -- --all <folder>   every screen, light and dark, wide and narrow, to look at
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { SqliteStorage } from "@durable/core/sqlite";
import { serveDashboard } from "../packages/dashboard/src/node/index.ts";
import { openBrowser } from "../packages/dashboard/test/support/chromium.ts";
import { createJournals, prices } from "../packages/dashboard/test/support/journals.ts";
import { screens } from "../packages/dashboard/test/support/screens.ts";
import { type Look, Visitor } from "../packages/dashboard/test/support/visitor.ts";
import { root } from "./lib/workspace.ts";

interface Picture extends Look {
  readonly name: string;
  readonly path: string;
}

const size = { width: 1280, height: 760 };

/** The pictures of the documentation. */
const pictures: readonly Picture[] = [
  { name: "dashboard-runs", path: "/", ...size },
  { name: "dashboard-run", path: "/runs/brief-1?step=draft", theme: "dark", ...size },
  { name: "dashboard-cost", path: "/cost", ...size },
  { name: "dashboard-inbox", path: "/inbox?run=brief-1&key=approve", ...size },
  { name: "dashboard-forks", path: "/runs/loan-7?tab=forks", ...size },
  { name: "dashboard-diff", path: "/diff/loan-7/loan-7-cautious", theme: "dark", width: 1280, height: 480 },
];

const looks: readonly (Look & { readonly width: number; readonly theme: "light" | "dark" })[] = (
  [1440, 390] as const
).flatMap((width) => (["light", "dark"] as const).map((theme) => ({ theme, width, height: 900 })));

const { values } = parseArgs({ options: { all: { type: "string" } } });
const folder = values.all ?? join(root, "docs", "images");
const wanted: readonly Picture[] =
  values.all === undefined
    ? pictures
    : looks.flatMap((look) =>
        Object.entries(screens).map(([name, path]) => ({
          ...look,
          name: `${name}-${look.theme}-${look.width}`,
          path,
        })),
      );

mkdirSync(folder, { recursive: true });
const home = mkdtempSync(join(tmpdir(), "screenshots-"));
const storage = new SqliteStorage(join(home, "journal.db"));
const journals = await createJournals(storage);
await journals.startStory();
const site = await serveDashboard({ app: journals.app, prices, port: 0, title: ".durable/journal.db" });
const browser = await openBrowser();
try {
  for (const { name, path, ...look } of wanted) {
    const visitor = await Visitor.open(
      browser,
      `${site.origin}${path}#${new URL(site.url).hash.slice(1)}`,
      look,
    );
    await visitor.settled();
    await visitor.page.screenshot({ path: join(folder, `${name}.png`) });
    await visitor.close();
  }
} finally {
  await browser.close();
  await site.close();
  await journals.close();
  await storage.close();
  rmSync(home, { recursive: true, force: true });
}
console.log(`screenshots: ${wanted.length} in ${folder}`);
