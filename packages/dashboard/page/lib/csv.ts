/** Tables as files for spreadsheets. */

/** A cell: quoted, and never a formula, because a text of a run may begin like one. */
function cell(value: unknown): string {
  const isEmpty = value === undefined || value === null;
  const text = typeof value === "string" ? value : isEmpty ? "" : JSON.stringify(value);
  const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function csvOf(rows: readonly (readonly unknown[])[]): string {
  return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

/** Saves rows as `<name>.csv`. */
export function saveCsv(name: string, rows: readonly (readonly unknown[])[]): void {
  const url = URL.createObjectURL(new Blob([csvOf(rows)], { type: "text/csv" }));
  Object.assign(document.createElement("a"), { href: url, download: `${name}.csv` }).click();
  // The browser has begun to save it by then.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
