/**
 * Compares the public names of every entry point with the kept list, so that no name becomes
 * public, or disappears, without a line in a review. `--write` accepts the present state.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { publicEntries } from "./lib/public-names.ts";
import { publishedPackages, root } from "./lib/workspace.ts";

const snapshot = join(root, "scripts", "exports.snapshot.txt");
const entries = publishedPackages().flatMap(publicEntries);
const lines = entries.flatMap(({ specifier, names }) =>
  names.map(({ kind, name }) => `${specifier}  ${kind.padEnd(5)}  ${name}`),
);

if (process.argv.includes("--write")) {
  writeFileSync(snapshot, `${lines.join("\n")}\n`);
  console.log(`exports: wrote ${lines.length} names of ${entries.length} entry points`);
} else {
  compare();
}

function compare(): void {
  const kept = existsSync(snapshot) ? readFileSync(snapshot, "utf8").trimEnd().split("\n") : [];
  const removed = kept.filter((line) => !lines.includes(line));
  const added = lines.filter((line) => !kept.includes(line));
  for (const line of removed) console.error(`- ${line}`);
  for (const line of added) console.error(`+ ${line}`);
  if (removed.length + added.length > 0) {
    console.error("exports: public names changed. If that is meant: npm run exports:check -- --write");
    process.exitCode = 1;
  } else {
    console.log(`exports: ${lines.length} names of ${entries.length} entry points, unchanged`);
  }
}
