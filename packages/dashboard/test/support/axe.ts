/** Accessibility faults of the page as it is now, as axe finds them. */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Violation {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string }[];
}

/** All faults that axe finds, however small it calls them. */
export async function axeProblems(page: Page): Promise<string[]> {
  await page.evaluate(source);
  const { violations } = await page.evaluate<{ violations: Violation[] }>(
    "axe.run(document, { resultTypes: ['violations'] })",
  );
  return violations.map(({ id, impact, nodes }) => `${id} (${impact}): ${nodes[0]?.html.slice(0, 200)}`);
}
