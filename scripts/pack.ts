/** Writes the packages as npm would publish them into a folder: for `durable init --from`, before anything is published. */
import { copyFileSync, mkdirSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { withTarballs } from "./lib/pack.ts";

const target = resolve(process.argv[2] ?? "dist/packages");
mkdirSync(target, { recursive: true });
const ok = withTarballs((packed) => {
  for (const { tarball } of packed) copyFileSync(tarball, join(target, basename(tarball)));
  console.log(`pack: ${packed.length} packages in ${target}`);
  return true;
});
process.exitCode = ok ? 0 : 1;
