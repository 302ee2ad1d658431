/**
 * Checks the packages as their users get them: packed, with publint, metadata, licence and README links, and every
 * entry point imported by plain Node from the unpacked files, without any optional peer.
 * check-consumers.ts tries compilers and other versions of Node.
 */
import { join, relative, sep } from "node:path";
import { importEntries, unpack } from "./lib/consumer.ts";
import { type Packed, withTarballs } from "./lib/pack.ts";
import { packageProblems } from "./lib/package-problems.ts";
import { root, runQuietly } from "./lib/workspace.ts";

const ok = withTarballs((packed, folder) => {
  for (const entry of packed) unpack(entry, entry.tarball, folder);
  const failed = packed.filter((entry) => !check(entry, folder));
  const all = packed.length;
  console.log(
    failed.length === 0 ? `packages: ${all} checked` : `packages: ${failed.length} of ${all} FAILED`,
  );
  return failed.length === 0;
});
process.exitCode = ok ? 0 : 1;

function check({ dir, manifest, tarball }: Packed, folder: string): boolean {
  const place = relative(root, dir).split(sep).join("/");
  const problems = packageProblems(join(folder, "node_modules", manifest.name), place);
  for (const problem of problems) console.error(`packages: ${manifest.name}: ${problem}`);
  const checks = [
    problems.length === 0,
    runQuietly("publint", ["run", "--strict", tarball]),
    importEntries(manifest, folder),
  ];
  const sound = !checks.includes(false);
  console.log(`packages: ${manifest.name} ${sound ? "ok" : "FAILED"}`);
  return sound;
}
