/** Makes the tarball that gets published, which differs from the workspace folder in two small ways. */
import { cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { type Package, root, runQuietly, type Target } from "./workspace.ts";

/** Packs one package into `<folder>/tarballs` and gives the path of the file. */
export function pack({ dir, manifest }: Package, folder: string): string {
  const staged = join(folder, "staged", basename(dir));
  const tarballs = join(folder, "tarballs", basename(dir));
  mkdirSync(staged, { recursive: true });
  mkdirSync(tarballs, { recursive: true });
  for (const item of ["dist", "README.md"]) {
    if (existsSync(join(dir, item))) cpSync(join(dir, item), join(staged, item), { recursive: true });
  }
  cpSync(join(root, "LICENSE"), join(staged, "LICENSE"));
  writeFileSync(join(staged, "package.json"), `${JSON.stringify(forPublishing(manifest), null, 2)}\n`);

  const packed = runQuietly(
    "npm",
    ["pack", "--silent", "--ignore-scripts", "--pack-destination", tarballs],
    staged,
  );
  const [tarball] = readdirSync(tarballs);
  if (!packed || tarball === undefined) throw new Error(`npm pack failed for ${manifest.name}`);
  return join(tarballs, tarball);
}

/** Sources are not published, so the "durable-source" condition would lead users who set it to missing files. */
function forPublishing(manifest: Package["manifest"]): object {
  const { exports = {}, imports, ...rest } = manifest;
  return {
    ...rest,
    exports: withoutSource(exports),
    ...(imports && { imports: withoutSource(imports) }),
  };
}

function withoutSource(target: Target): Target {
  if (typeof target === "string") return target;
  const kept = Object.entries(target).filter(([condition]) => condition !== "durable-source");
  return Object.fromEntries(kept.map(([condition, value]) => [condition, withoutSource(value)]));
}
