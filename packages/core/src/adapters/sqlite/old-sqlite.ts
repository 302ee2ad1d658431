/** SQLite before 3.51.3 may damage a file to which several connections write. Says so when that begins, and not before. */

/** Up to 3.51.2, two processes that write and checkpoint at once can damage a file (sqlite.org/wal.html#walresetbug). */
export function hasWalResetBug(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split(".").map(Number);
  if (major !== 3 || minor > 51) return false;
  const fixed = { 44: 6, 50: 7, 51: 3 }[minor];
  return fixed === undefined || patch < fixed;
}

/**
 * The function that it returns warns once when another connection has written since the file was opened. `dataVersion`
 * changes with the commits of other connections alone.
 */
export function warnOfWriters(version: string, path: string, dataVersion: () => number): () => void {
  if (!hasWalResetBug(version)) return () => {};
  const opened = dataVersion();
  let warned = false;
  return () => {
    if (warned || dataVersion() === opened) return;
    warned = true;
    process.emitWarning(
      `Another process writes to the journal file "${path}", and this Node has SQLite ${version}, which can damage such a file (sqlite.org/wal.html#walresetbug). Use one process per file, or a Node with SQLite 3.51.3 or later.`,
      { code: "DURABLE_OLD_SQLITE" },
    );
  };
}
