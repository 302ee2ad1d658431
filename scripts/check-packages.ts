/**
 * Checks the packages as their users get them: packed, with publint and attw on the tarball,
 * and every entry point imported by plain Node from the unpacked files.
 */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { importEntries, unpack } from "./lib/consumer.ts";
import { pack } from "./lib/pack.ts";
import { listPackages, runQuietly } from "./lib/workspace.ts";

const packages = listPackages().filter(({ manifest }) => !manifest.private);
const unbuilt = packages.filter(({ dir }) => !existsSync(join(dir, "dist")));
if (unbuilt.length > 0) {
  console.error(
    `packages: no dist in ${unbuilt.map(({ dir }) => dir).join(", ")}. Run \`npm run build\` first.`,
  );
  process.exit(1);
}

const folder = mkdtempSync(join(tmpdir(), "durable-packages-"));
let failed = 0;
try {
  const packed = packages.map((entry) => ({ ...entry, tarball: pack(entry, folder) }));
  for (const entry of packed) unpack(entry, entry.tarball, folder);
  for (const { manifest, tarball } of packed) {
    const checks = [
      runQuietly("publint", ["run", "--strict", tarball]),
      // The packages are ESM only, so how old resolvers and require() see them is not judged.
      runQuietly("attw", [tarball, "--profile", "esm-only", "--format", "ascii"]),
      importEntries(manifest, folder),
    ];
    const ok = !checks.includes(false);
    console.log(`packages: ${manifest.name} ${ok ? "ok" : "FAILED"}`);
    if (!ok) failed += 1;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

console.log(
  failed === 0
    ? `packages: ${packages.length} checked`
    : `packages: ${failed} of ${packages.length} have problems`,
);
process.exitCode = failed === 0 ? 0 : 1;
