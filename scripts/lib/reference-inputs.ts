/** The reference of this workspace: what it is made from, and whether its pages agree with that. */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Api, readApi } from "./api.ts";
import type { Pages, Problem } from "./docs-pages.ts";
import { checkEntries, isReference, render, type Sources, stale } from "./reference.ts";
import { checkJournalFormat } from "./reference-journal.ts";
import type { Numbers } from "./reference-limits.ts";
import { root } from "./workspace.ts";

/** Works in `folder`, which is made anew and removed. Needs the condition "durable-source". */
export async function readReference(
  folder: string,
): Promise<{ readonly api: Api; readonly numbers: Numbers }> {
  const api = readApi(folder);
  rmSync(folder, { recursive: true, force: true });
  const { limits } = await import("@durable/core");
  const { defaultLimits } = await import("@durable/http");
  const numbers = new Map<string, Readonly<Record<string, number>>>([
    ["@durable/core limits", limits],
    ["@durable/http defaultLimits", { ...defaultLimits }],
  ]);
  return { api, numbers };
}

export function referencePages(pages: Pages): Sources {
  const found = [...pages].filter(([file]) => isReference(file));
  return new Map(found.map(([file, { source }]) => [file, source]));
}

/** The public names, one line for each: what `npm run exports:check` keeps. */
export function exportedNames(): string[] {
  const text = readFileSync(join(root, "scripts", "exports.snapshot.txt"), "utf8");
  return text.trimEnd().split("\n");
}

export async function checkReference(all: Pages, folder: string): Promise<Problem[]> {
  const pages = referencePages(all);
  const { api, numbers } = await readReference(folder);
  const { pages: rendered, problems } = render(pages, api, numbers);
  const facts = api.get("@durable/core/storage")?.get("Fact")?.signature ?? "";
  return [
    ...checkEntries(pages, exportedNames()),
    ...problems,
    ...stale(pages, rendered),
    ...checkJournalFormat(pages.get("docs/reference/journal-format.md") ?? "", facts),
  ];
}
