/**
 * Joins the chunks that an entry loads at once into a single file. A bundler cuts code wherever two entries, or an entry and
 * a part that is loaded later, share some of it; each file that Node opens costs about a millisecond of an import.
 */
import { globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { build, type BuildOptions, type Metafile } from "esbuild";

/** `outputs` are those of the build of `dist`, with paths that are relative to `base`. */
export async function joinChunks(
  { base, dist, entry }: { readonly base: string; readonly dist: string; readonly entry: string },
  outputs: Metafile["outputs"],
  options: Pick<BuildOptions, "platform" | "target" | "external">,
): Promise<void> {
  const chunks = loadedAtOnce(outputs, relative(base, join(dist, entry)));
  if (chunks.length < 2) return;
  const joined = join(dist, "chunks", "kernel.js");
  const places = new Map(chunks.map((chunk, n) => [join(base, chunk), n]));
  const lines = chunks.map((chunk, n) => {
    const names = outputs[chunk]?.exports.map((name) => `${name} as ${name}_${n}`) ?? [];
    return `export { ${names.join(", ")} } from ${JSON.stringify(specifier(dist, join(base, chunk)))};`;
  });
  await build({
    ...options,
    stdin: { contents: lines.join("\n"), resolveDir: dist },
    outfile: joined,
    allowOverwrite: true,
    bundle: true,
    format: "esm",
    packages: "external",
    sourcemap: "linked",
    logLevel: "error",
    plugins: [
      {
        name: "parts",
        setup: (building) =>
          // Parts stay files of their own, beside this one.
          building.onResolve({ filter: /^\.\/[^/]+\.js$/ }, ({ kind, path }) =>
            kind === "dynamic-import" ? { path, external: true } : null,
          ),
      },
    ],
  });
  for (const chunk of places.keys())
    for (const file of [chunk, `${chunk}.map`]) rmSync(file, { force: true });
  for (const file of globSync("**/*.js", { cwd: dist })) {
    const path = join(dist, file);
    if (path !== joined) writeFileSync(path, importing(readFileSync(path, "utf8"), { path, joined, places }));
  }
}

/** The files that an entry imports, directly or through others, and not at a later time. */
export function loadedAtOnce(outputs: Metafile["outputs"], entry: string): string[] {
  const found = new Set([entry]);
  for (const file of found)
    for (const { path, kind } of outputs[file]?.imports ?? [])
      if (kind === "import-statement" && outputs[path] !== undefined) found.add(path);
  found.delete(entry);
  return [...found];
}

/** Lines stay where they are, so that source maps stay right. */
function importing(
  text: string,
  { path, joined, places }: { path: string; joined: string; places: ReadonlyMap<string, number> },
): string {
  const from = JSON.stringify(specifier(dirname(path), joined));
  return text.replaceAll(/^import (?:\{([^}]*)\} from )?"(\.[^"]*)";$/gm, (whole, names, asked: string) => {
    const n = places.get(join(dirname(path), asked));
    if (n === undefined) return whole;
    if (names === undefined) return `import ${from};`;
    const renamed = (names as string).replaceAll(
      /([\w$]+)( as [\w$]+)?/g,
      (_, name: string, as?: string) => `${name}_${n}${as ?? ` as ${name}`}`,
    );
    return `import {${renamed}} from ${from};`;
  });
}

function specifier(folder: string, file: string): string {
  const path = relative(folder, file).split(sep).join("/");
  return path.startsWith(".") ? path : `./${path}`;
}
