/**
 * Makes a release of all packages under one version; docs/releasing.md says when and why.
 *
 *     npm run release -- minor             versions, changelog, build and checks, commit and tag
 *     npm run release -- minor --dry-run   the same without commit and tag; the files are restored
 *     npm run release -- --publish         publishes the version that the current commit is tagged with
 *
 * A kind of change (major, minor, patch) or a version, and --publish, may be given together.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { type Packed, withTarballs } from "./lib/pack.ts";
import { cutChangelog, lockWithVersion, nextVersion, withVersion } from "./lib/release.ts";
import { capture, listPackages, root, run } from "./lib/workspace.ts";

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { "dry-run": { type: "boolean", default: false }, publish: { type: "boolean", default: false } },
});
const [wanted] = positionals;
const dryRun = values["dry-run"];
const checks = ["build", "exports:check", "packages:check", "consumers:check"];

type Manifest = { readonly version: string; readonly workspaces: readonly string[] };
const manifest = JSON.parse(read("package.json")) as Manifest;

process.exitCode = release() ? 0 : 1;

function release(): boolean {
  if (wanted === undefined && !values.publish) {
    console.error("release: say major, minor, patch or a version; or --publish for the one that is tagged");
    return false;
  }
  const version = wanted === undefined ? manifest.version : nextVersion(manifest.version, wanted);
  const obstacles = obstaclesTo(version);
  for (const obstacle of obstacles) console.error(`release: ${obstacle}`);
  if (obstacles.length > 0 && !dryRun) return false;

  const edits = wanted === undefined ? new Map<string, string>() : editsFor(version);
  const before = new Map([...edits.keys()].map((file) => [file, read(file)]));
  write(edits);
  let made = false;
  try {
    const isSound = checks.every((check) => run("npm", ["run", "--silent", check]));
    made = isSound && (wanted === undefined || commit(version));
    const published = made && withTarballs((packed) => packed.every(publish));
    console.log(`release: ${version} ${summary(made, published)}`);
    return published;
  } finally {
    if (dryRun || !made) write(before);
  }
}

function summary(made: boolean, published: boolean): string {
  if (!made) return "was not made; all files are as they were";
  if (!published) return "is not fully published; repeat `npm run release -- --publish`";
  if (dryRun) return "could be released; all files are as they were";
  return values.publish
    ? "is published"
    : "is ready: push main and the tag, and the release workflow publishes it";
}

/** Reasons not to release now. A dry run only prints them. */
function obstaclesTo(version: string): string[] {
  const isDirty = git("status", "--porcelain") !== "";
  const branch = git("branch", "--show-current");
  const tags = git("tag", "--points-at", "HEAD").split("\n");
  const isTaken = git("tag", "--list", `v${version}`) !== "";
  return [
    ...(isDirty ? ["the working tree has changes: commit or stash them"] : []),
    ...(wanted !== undefined && branch !== "main" ? [`this is branch "${branch}": go to main`] : []),
    ...(wanted !== undefined && isTaken ? [`there is a tag v${version} already`] : []),
    ...(wanted === undefined && !tags.includes(`v${version}`) ? [`this commit has no tag v${version}`] : []),
  ];
}

/** The files of the release by path: every manifest, the lock file and the changelog. */
function editsFor(version: string): Map<string, string> {
  const ours = new Set(listPackages().map(({ manifest }) => manifest.name));
  const places = ["", ...manifest.workspaces.map((place) => `${place}/`)];
  const manifests = globSync(
    places.map((place) => `${place}package.json`),
    { cwd: root },
  );
  const today = new Date().toISOString().slice(0, 10);
  const { changelog, notes } = cutChangelog(read("CHANGELOG.md"), version, today);
  console.log(`release: ${manifest.version} -> ${version}\n\n${notes}\n`);
  const lock = JSON.parse(read("package-lock.json")) as Parameters<typeof lockWithVersion>[0];
  return new Map([
    ...manifests.map((file): [string, string] => [
      file,
      json(withVersion(JSON.parse(read(file)) as Record<string, unknown>, version, ours)),
    ]),
    ["package-lock.json", json(lockWithVersion(lock, version, ours))],
    ["CHANGELOG.md", changelog],
  ]);
}

function commit(version: string): boolean {
  return (
    act("git", ["commit", "--quiet", "--all", "--message", `release: ${version}`]) &&
    act("git", ["tag", "--annotate", `v${version}`, "--message", version])
  );
}

/** Publishes one tarball, or prints the command. Published versions are skipped, so publishing can be repeated. */
function publish({ manifest: { name, version }, tarball }: Packed): boolean {
  const args = ["publish", tarball, "--provenance", "--access", "public"];
  if (!values.publish) {
    console.log(`to publish: npm ${args.with(1, basename(tarball)).join(" ")}`);
    return true;
  }
  if (capture("npm", ["view", `${name}@${version}`, "version"]).stdout.trim() === version) {
    console.log(`release: ${name}@${version} is published already`);
    return true;
  }
  return act("npm", args);
}

/** Runs a command with lasting effects. A dry run prints it instead. */
function act(command: string, args: readonly string[]): boolean {
  if (!dryRun) return run(command, args);
  console.log(`would run: ${command} ${args.join(" ")}`);
  return true;
}

function git(...args: string[]): string {
  const { ok, stdout, said } = capture("git", args);
  if (!ok) throw new Error(`git ${args.join(" ")}: ${said}`);
  return stdout.trim();
}

function read(file: string): string {
  return readFileSync(join(root, file), "utf8");
}

function write(files: ReadonlyMap<string, string>): void {
  for (const [file, text] of files) writeFileSync(join(root, file), text);
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
