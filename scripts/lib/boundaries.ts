/**
 * The arrows between and inside packages.
 *
 * B1. Core imports only itself; the one name it may use is "#default-storage".
 * B2. In core, "node:" appears under src/adapters/sqlite and src/adapters/folder alone.
 * B3. Every other package imports core, what its package.json declares, and itself; never another adapter. Two arrows
 *     besides: the dashboard is a server too, and is built on `@durable/http`; the simulator uses the test kit.
 * B4. A relative import stays inside its package.
 * B5. No import cycles in a package; "#default-storage" counts as an arrow, and so do type-only imports from another folder:
 *     files of one folder may know each other's types.
 * B6. No source file has more than 300 lines of code: comments and blank lines are not counted. Five files, each of one idea
 *     that would not be clearer in two, may have 450.
 * B7. In core every arrow points down the list of `floors`, and "#default-storage" is used by runs/host.ts alone.
 * B8. In core no adapter imports another adapter.
 */
import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize, relative, sep } from "node:path";
import { type Arrow, findCycles } from "./cycles.ts";
import { arrowComplaint, placeComplaint, seams } from "./floors.ts";
import { blankComments, findImports, type Import } from "./imports.ts";
import { declaredDependencies, listPackages, type Package, type Target } from "./workspace.ts";

export type Problem = { readonly file: string; readonly line: number; readonly message: string };

export const maxLines = 300;
const longLines = 450;
const long: readonly string[] = [
  "runs/resume.ts",
  "journal/journal.ts",
  "engine/engine.ts",
  "worker/worker.ts",
  "adapters/memory.ts",
];
const core = "@durable/core";
const defaultStorage = "#default-storage";
/** Arrows between packages, besides those at core. */
const between: Readonly<Record<string, readonly string[]>> = {
  "@durable/dashboard": ["@durable/http"],
  "@durable/simulator": ["@durable/testing"],
};

/** Every broken rule in the workspace at `base`; files are relative to it. */
export function checkBoundaries(base: string): Problem[] {
  return listPackages(base).flatMap((entry) => checkPackage(entry, base));
}

function checkPackage(entry: Package, base: string): Problem[] {
  const problems: Problem[] = [];
  const graph = new Map<string, Arrow[]>();
  const show = (file: string): string => relative(base, join(entry.dir, file)).split(sep).join("/");

  for (const file of sourceFiles(entry.dir)) {
    const source = readFileSync(join(entry.dir, file), "utf8");
    const report = (line: number, message: string): void => {
      problems.push({ file: show(file), line, message });
    };
    const lines = codeLines(source);
    const most = long.some((name) => show(file).endsWith(`packages/core/src/${name}`)) ? longLines : maxLines;
    if (lines > most) report(1, `${lines} lines of code, ${most} is the limit: split it by concern`);
    const misplaced = entry.manifest.name === core ? placeComplaint(file) : null;
    if (misplaced !== null) report(1, misplaced);

    const imports = findImports(source);
    graph.set(
      file,
      imports.flatMap((found) => arrows(entry, file, found)),
    );
    for (const found of imports) {
      const message = complaint(entry, file, found);
      if (message !== null) report(found.line, message);
      else if (entry.manifest.name === core && found.specifier?.startsWith(".")) {
        const wrong = arrowComplaint(file, resolveRelative(file, found.specifier));
        if (wrong !== null) report(found.line, wrong);
      }
    }
  }
  return [...problems, ...cycleProblems(graph, show)];
}

function codeLines(source: string): number {
  return blankComments(source)
    .split("\n")
    .filter((line) => line.trim() !== "").length;
}

function sourceFiles(dir: string): string[] {
  return globSync("src/**/*.{ts,tsx,mts}", { cwd: dir })
    .map((file) => file.split(sep).join("/"))
    .toSorted();
}

/** What is wrong with one import and what to do about it; `null` when nothing is. */
function complaint({ manifest }: Package, file: string, { specifier }: Import): string | null {
  const inCore = manifest.name === core;
  if (specifier === null) return inCore ? "import() of a computed name: core names what it imports" : null;
  if (specifier.startsWith(".")) {
    return resolveRelative(file, specifier).startsWith("src/")
      ? null
      : `"${specifier}" leaves the package's src: import the other package by its name`;
  }
  if (specifier.startsWith("node:")) {
    return !inCore || /^src\/adapters\/(sqlite|folder)\//.test(file)
      ? null
      : `"${specifier}" in portable core: move it to src/adapters/sqlite or use a web API`;
  }
  if (inCore) {
    if (specifier === defaultStorage)
      return seams.includes(file)
        ? null
        : `"${specifier}" is for ${seams[0]} alone: ask the host for its storage`;
    return `"${specifier}": core imports nothing but its own files; write it here or move this to an adapter`;
  }
  return outsideComplaint(manifest, specifier);
}

function outsideComplaint(manifest: Package["manifest"], specifier: string): string | null {
  const name = packageName(specifier);
  if (specifier.startsWith("#") && manifest.imports?.[specifier] !== undefined) return null;
  const known = [core, ...(between[manifest.name] ?? [])];
  if (name.startsWith("@durable/") && !known.includes(name)) {
    return `"${specifier}": packages know ${core} only, never each other; move what is shared to core`;
  }
  return declaredDependencies(manifest).includes(name)
    ? null
    : `"${specifier}" is not declared: add ${name} to dependencies or peerDependencies of ${manifest.name}`;
}

function packageName(specifier: string): string {
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}

/** The files of the same package an import leads to. */
function arrows({ manifest }: Package, file: string, { specifier, line, typeOnly }: Import): Arrow[] {
  if (typeOnly && /^\.\/[^/]+$/.test(specifier ?? "")) return [];
  if (specifier?.startsWith(".")) return [{ to: resolveRelative(file, specifier), line }];
  const target = specifier?.startsWith("#") ? manifest.imports?.[specifier] : undefined;
  if (target === undefined) return [];
  return sourceTargets(target).map((to) => ({ to: normalize(to), line }));
}

/** All files an internal import may stand for, whichever runtime picks. */
function sourceTargets(target: Target): string[] {
  if (typeof target === "string") return target.startsWith("./src/") ? [target] : [];
  return [...new Set(Object.values(target).flatMap(sourceTargets))];
}

function resolveRelative(file: string, specifier: string): string {
  return join(dirname(file), specifier).split(sep).join("/");
}

function cycleProblems(graph: Map<string, Arrow[]>, show: (file: string) => string): Problem[] {
  return findCycles(graph).map((cycle) => {
    const [first = "", second = first] = cycle;
    const line = graph.get(first)?.find(({ to }) => to === second)?.line ?? 1;
    const path = [...cycle, first].map(show).join(" -> ");
    return { file: show(first), line, message: `import cycle ${path}: move what both need to a third file` };
  });
}
