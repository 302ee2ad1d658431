/**
 * Checks the packages as their users get them: packed, with publint, metadata, licence and README links, and every
 * entry point imported by plain Node from the unpacked files, without any optional peer.
 * check-consumers.ts tries compilers and other versions of Node.
 */
import { globSync, readFileSync, statSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { importEntries, unpack } from "./lib/consumer.ts";
import { type Packed, withTarballs } from "./lib/pack.ts";
import { packageProblems } from "./lib/package-problems.ts";
import { root, runQuietly } from "./lib/workspace.ts";

const ok = withTarballs((packed, folder) => {
  for (const entry of packed) unpack(entry, entry.tarball, folder);
  const failed = packed.filter((entry) => !check(entry, folder));
  const sizes = ["@durable/core", "@durable/testing"].map((name) => sizeOf(name, folder));
  const isSizeTrue = checkSizes(sizes);
  const all = packed.length;
  console.log(
    failed.length === 0 ? `packages: ${all} checked` : `packages: ${failed.length} of ${all} FAILED`,
  );
  return failed.length === 0 && isSizeTrue;
});
process.exitCode = ok ? 0 : 1;

interface Size {
  readonly name: string;
  readonly bytes: number;
  /** With folders and in blocks of 4 KiB, as docs/comparison.md states it for all systems. */
  readonly onDisk: number;
}

/** The size of an installed package: its files, and on disk. */
function sizeOf(name: string, folder: string): Size {
  const place = join(folder, "node_modules", name);
  const found = globSync("**/*", { cwd: place }).map((file) => statSync(join(place, file)));
  return {
    name,
    bytes: sum(found.filter((file) => file.isFile()).map(({ size }) => size)),
    onDisk: sum(found.map(({ size }) => Math.ceil(size / 4_096) * 4_096)) / 1_000_000,
  };
}

/** Each has at most a megabyte, and the first is as large as the comparison says. */
function checkSizes(sizes: readonly Size[]): boolean {
  const limit = 1_000_000;
  const page = readFileSync(join(root, "docs/comparison.md"), "utf8");
  const stated = Number(/^\| durable \| 1 \| ([\d.]+) MB/m.exec(page)?.[1]);
  for (const { name, bytes, onDisk } of sizes)
    console.log(
      `packages: ${name} has ${bytes.toLocaleString("en")} bytes (at most ${limit.toLocaleString("en")}), ${onDisk.toFixed(2)} MB on disk`,
    );
  console.log(`packages: docs/comparison.md says ${stated} MB of @durable/core`);
  const [core] = sizes;
  return sizes.every(({ bytes }) => bytes <= limit) && Math.abs((core?.onDisk ?? 0) - stated) <= 0.05;
}

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

function sum(sizes: readonly number[]): number {
  return sizes.reduce((all, size) => all + size, 0);
}
