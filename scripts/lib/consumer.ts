/** A folder that looks like a user's project with our tarballs installed. */
import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { declaredDependencies, type Manifest, type Package, root, runQuietly } from "./workspace.ts";

/** Installs a tarball into `<folder>/node_modules`, next to the outside dependencies it must have. */
export function unpack({ manifest }: Package, tarball: string, folder: string): void {
  const target = join(folder, "node_modules", manifest.name);
  mkdirSync(target, { recursive: true });
  if (!runQuietly("tar", ["-xzf", tarball, "-C", target, "--strip-components=1"]))
    throw new Error(`Cannot unpack ${tarball}`);

  for (const dependency of declaredDependencies(manifest)) {
    const installed = join(root, "node_modules", dependency);
    const link = join(folder, "node_modules", dependency);
    const ours = dependency.startsWith("@durable/");
    if (ours || isOptional(manifest, dependency) || existsSync(link) || !existsSync(installed)) continue;
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(installed, link);
  }
}

/** Imports every entry point. Only a subpath may need an optional peer, which is not there. */
export function importEntries(manifest: Manifest, folder: string): boolean {
  const optional = Object.keys(manifest.peerDependencies ?? {}).filter((name) => isOptional(manifest, name));
  return Object.keys(manifest.exports ?? {})
    .filter((subpath) => !subpath.endsWith(".json"))
    .map((subpath) => {
      const specifier = manifest.name + subpath.slice(1);
      const tolerated = subpath === "." ? [] : optional;
      const program = `
        await import(${JSON.stringify(specifier)}).catch((error) => {
          const missing = error.code === "ERR_MODULE_NOT_FOUND"
            && ${JSON.stringify(tolerated)}.some((name) => error.message.includes("'" + name + "'"));
          if (!missing) throw error;
        });`;
      return runQuietly(process.execPath, ["--input-type=module", "--eval", program], folder);
    })
    .every(Boolean);
}

function isOptional(manifest: Manifest, dependency: string): boolean {
  return manifest.peerDependenciesMeta?.[dependency]?.optional === true;
}
