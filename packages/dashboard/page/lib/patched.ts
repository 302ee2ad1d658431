/** Puts a page of a run together from the one before and what has changed. Proven in test/patch.test.ts. */

import type { RunPage, RunPatch } from "../../src/api.ts";

/** The page after a change. */
export function patched(
  { sent, now, rows: parts, set, gone }: RunPatch,
  known: (RunPage & { readonly sent?: string }) | null | undefined,
): RunPage & { readonly sent: string } {
  if (known === null || known === undefined) throw new Error("The page before this change is missing.");
  const isSame =
    parts.length === 1 && isRange(parts[0]) && parts[0][0] === 0 && parts[0][1] === known.rows.length;
  // Rows that are the same list need not be drawn again.
  const rows = isSame
    ? known.rows
    : parts.flatMap((part) => (isRange(part) ? known.rows.slice(...part) : [part]));
  const page = { ...known, ...set, rows, sent, now };
  return Object.fromEntries(Object.entries(page).filter(([name]) => !gone.includes(name))) as typeof page;
}

function isRange(part: RunPatch["rows"][number] | undefined): part is readonly [number, number] {
  return Array.isArray(part);
}
