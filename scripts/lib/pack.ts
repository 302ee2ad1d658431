/** Makes the tarball that gets published, which differs from the workspace folder in three small ways. */
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { publishedReadme } from "./package-readme.ts";
import { buildOrder, publishedPackages, type Package, root, runQuietly, type Target } from "./workspace.ts";

export type Packed = Package & { readonly tarball: string };

/** Packs every published package into a folder that lasts as long as `use`, which says whether all went well. */
export function withTarballs(use: (packed: readonly Packed[], folder: string) => boolean): boolean {
  const packages = builtPackages();
  const folder = mkdtempSync(join(tmpdir(), "durable-packages-"));
  try {
    return use(
      packages.map((entry) => ({ ...entry, tarball: pack(entry, folder) })),
      folder,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Packs every published package into one folder, beside a folder for work; both last as long as `use`. */
export async function packInto(use: (tarballs: string, home: string) => Promise<void>): Promise<void> {
  const packages = builtPackages();
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "durable-first-")));
  try {
    const tarballs = join(folder, "files");
    mkdirSync(tarballs);
    for (const entry of packages) {
      const tarball = pack(entry, folder);
      copyFileSync(tarball, join(tarballs, basename(tarball)));
    }
    await use(tarballs, join(folder, "home"));
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** The published packages, each of which must have its `dist`. */
function builtPackages(): Package[] {
  const packages = buildOrder(publishedPackages());
  const unbuilt = packages.filter(({ dir }) => !existsSync(join(dir, "dist")));
  if (unbuilt.length === 0) return packages;
  const names = unbuilt.map(({ manifest }) => manifest.name).join(", ");
  throw new Error(`There is no dist in ${names}. Run \`npm run build\` first.`);
}

/** Packs one package into `<folder>/tarballs` and gives the path of the file. */
export function pack({ dir, manifest }: Package, folder: string): string {
  const staged = join(folder, "staged", basename(dir));
  const tarballs = join(folder, "tarballs", basename(dir));
  mkdirSync(staged, { recursive: true });
  mkdirSync(tarballs, { recursive: true });
  for (const folder of manifest.files ?? [])
    if (existsSync(join(dir, folder))) cpSync(join(dir, folder), join(staged, folder), { recursive: true });
  if (existsSync(join(dir, "README.md"))) {
    const readme = readFileSync(join(dir, "README.md"), "utf8");
    writeFileSync(join(staged, "README.md"), publishedReadme(readme, manifest));
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
