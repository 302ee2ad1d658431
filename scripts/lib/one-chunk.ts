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
  const all = chunks.flatMap((chunk) => outputs[chunk]?.exports ?? []);
  const shared = new Set(all.filter((name, i) => all.indexOf(name) !== i));
  const lines = chunks.map((chunk, n) => {
    const names = outputs[chunk]?.exports.map((name) => renamed(name, joinedName(name, n, shared))) ?? [];
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
  for (const chunk of places.keys()) rmSync(chunk);
  for (const file of globSync("**/*.js", { cwd: dist })) {
    const path = join(dist, file);
    if (path !== joined)
      writeFileSync(path, importing(readFileSync(path, "utf8"), { path, joined, places, shared }));
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

/**
 * With one import of the joined file, by name: of an import without names bundlers warn, because packages say that their files
 * have no side effects.
 */
function importing(
  text: string,
  {
    path,
    joined,
    places,
    shared,
  }: { path: string; joined: string; places: ReadonlyMap<string, number>; shared: ReadonlySet<string> },
): string {
  const names: string[] = [];
  const rest = text.replaceAll(
    /^import (?:\{([^}]*)\} from )?"(\.[^"]*)";\n/gm,
    (whole, asked: string | undefined, from: string) => {
      const n = places.get(join(dirname(path), from));
      if (n === undefined) return whole;
      for (const [, name = "", as = name] of (asked ?? "").matchAll(/([\w$]+)(?: as ([\w$]+))?/g))
        names.push(`  ${renamed(joinedName(name, n, shared), as)}`);
      return "";
    },
  );
  if (names.length === 0) return rest;
  const statement = `import {\n${names.join(",\n")}\n} from ${JSON.stringify(specifier(dirname(path), joined))};\n`;
  // The first line of a command.
  const [shebang = ""] = /^#!.*\n/.exec(rest) ?? [];
  return shebang + statement + rest.slice(shebang.length);
}

/** The name under which the joined file exports a name of its n-th chunk: two chunks may export different things as one name. */
function joinedName(name: string, n: number, shared: ReadonlySet<string>): string {
  return shared.has(name) ? `${name}_${n}` : name;
}

function renamed(from: string, to: string): string {
  return from === to ? from : `${from} as ${to}`;
}

function specifier(folder: string, file: string): string {
  const path = relative(folder, file).split(sep).join("/");
  return path.startsWith(".") ? path : `./${path}`;
}
