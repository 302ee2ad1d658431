/** Packages from npm in folders outside of the workspace, among them a Node older than the one of the workspace. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { oldNodes } from "./consumer-matrix.ts";
import { runQuietly } from "./workspace.ts";

/** Installs the old Node for this platform into `folder`, and gives its path. */
export function installOldNode(folder: string): string {
  const platform = `${process.platform}-${process.arch}`;
  const [name, version] = oldNodes[platform] ?? [];
  if (name === undefined)
    throw new Error(`There is no old Node for ${platform}. Give one with --node <path>.`);
  npmInstall(folder, [`${name}@${version}`]);
  const manifest = JSON.parse(readFileSync(join(folder, "node_modules", name, "package.json"), "utf8")) as {
    readonly bin: { readonly node: string };
  };
  return join(folder, "node_modules", name, manifest.bin.node);
}

/** Installs packages into a project of their own. */
export function npmInstall(folder: string, what: readonly string[]): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "private": true }\n');
  const quick = ["--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
  if (!runQuietly("npm", ["install", ...quick, ...what], folder))
    throw new Error(`Cannot install ${what.join(" ")}`);
}
