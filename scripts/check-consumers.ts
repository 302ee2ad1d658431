/**
 * Installs the packed packages with npm into projects outside of the workspace, compiles a program that uses every
 * public name with several compilers and module settings, and runs it on several Nodes: the one of the workspace and
 * an old one, or those given with `--node <path>`. Compiles the assertions about types with each compiler. Then runs the
 * test kit under several test runners.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Setting, settings, table, type Verdict } from "./lib/consumer-matrix.ts";
import { programFiles, refusedFiles, type Style } from "./lib/consumer-program.ts";
import { jestVersion, tryRunners } from "./lib/consumer-runners.ts";
import { installOldNode, npmInstall } from "./lib/installs.ts";
import { compile, runProgram, type Trial } from "./lib/consumer-trial.ts";
import { assertions, clientDamages, compileAssertions, compileDamaged } from "./lib/consumer-types.ts";
import { type Packed, withTarballs } from "./lib/pack.ts";
import { publicEntries } from "./lib/public-names.ts";
import { capture, root } from "./lib/workspace.ts";

const { values } = parseArgs({ options: { node: { type: "string", multiple: true } } });
let failures = 0;

const ok = withTarballs((packed, folder) => {
  const startedAt = performance.now();
  const nodes = findNodes(join(folder, "nodes"));
  const projects = new Map<string, string>();
  const rows = settings.flatMap((setting) => {
    const home = projects.get(setting.typescript) ?? install(setting.typescript, packed, folder);
    const isFirst = !projects.has(setting.typescript);
    projects.set(setting.typescript, home);
    const rows = tryOut(setting, { home, packed, nodes });
    return isFirst ? [...rows, ...tryTypes(home, nodes)] : rows;
  });
  const head = ["TypeScript", "moduleResolution", "program", "compiler", ...nodes.map(({ name }) => name)];
  console.log(table([head, ...rows]));
  const runners = tryRunners(installRunners(packed, folder), nodes.at(-1)?.path ?? process.execPath);
  console.log(table([["Runner", "source maps", "test kit finds"], ...runners.rows]));
  for (const report of runners.reports) note({ cell: "FAILED", report });
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  const result = failures === 0 ? "all as documented" : `${failures} FAILED`;
  console.log(`consumers: ${rows.length} programs on ${nodes.length} Nodes in ${seconds} s, ${result}`);
  return failures === 0;
});
process.exitCode = ok ? 0 : 1;

type Node = { readonly name: string; readonly path: string };

function findNodes(folder: string): Node[] {
  const paths = values.node ?? [installOldNode(folder), process.execPath];
  return paths.map((path) => ({ path, name: `Node ${versionOf(path)}` }));
}

function versionOf(node: string): string {
  const { ok, stdout, said } = capture(node, ["--version"]);
  if (!ok) throw new Error(`Cannot run ${node}: ${said}`);
  return stdout.trim().slice(1);
}

/** A user's project with the tarballs, a compiler, and what some entry points need besides. */
function install(typescript: string, packed: readonly Packed[], folder: string): string {
  const home = join(folder, `typescript-${typescript}`);
  npmInstall(home, [
    ...packed.map(({ tarball }) => tarball),
    `typescript@${typescript}`,
    "@types/node@22",
    `vitest@${versionOfTool("vitest")}`,
    `zod@${versionOfTool("zod")}`,
  ]);
  return home;
}

/** A user's project with the test kit and the runners. */
function installRunners(packed: readonly Packed[], folder: string): string {
  const home = join(folder, "runners");
  const kit = packed.filter(({ manifest }) => /^@durable\/(?:core|testing)$/.test(manifest.name));
  npmInstall(home, [
    ...kit.map(({ tarball }) => tarball),
    `vitest@${versionOfTool("vitest")}`,
    `jest@${jestVersion}`,
  ]);
  return home;
}

function versionOfTool(name: string): string {
  const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    readonly devDependencies: Readonly<Record<string, string>>;
  };
  return devDependencies[name] ?? "latest";
}

/** Assertions about types hold under every compiler, and wrong declarations of the client fail there. */
function tryTypes(home: string, nodes: readonly Node[]): string[][] {
  const compiler = join(home, "node_modules", "typescript");
  const { version } = JSON.parse(readFileSync(join(compiler, "package.json"), "utf8")) as { version: string };
  const dist = join(home, "node_modules", "@durable", "http", "dist");
  const declarations = Object.fromEntries(
    ["client.d.ts", "declarations.d.ts"].map((file) => [file, readFileSync(join(dist, file), "utf8")]),
  );
  const row = (name: string, cell: string): string[] => [
    version,
    "nodenext",
    name,
    cell,
    ...nodes.map(() => "-"),
  ];
  const held = Object.entries(assertions).map(([name, text], i) =>
    row(name, note(compileAssertions(join(home, `assertions-${i}`), compiler, text))),
  );
  const damaged = compileDamaged(join(home, "damaged"), {
    compiler,
    assertions: assertions["typed client"],
    specifier: "@durable/http/client",
    declarations,
    damages: clientDamages,
  });
  return [...held, row("wrong clients", note(damaged))];
}

type Project = { readonly home: string; readonly packed: readonly Packed[]; readonly nodes: readonly Node[] };

/** Compiles and runs the programs of one setting; a row of the table for each. */
function tryOut({ typescript, resolution, programs }: Setting, { home, packed, nodes }: Project): string[][] {
  // The declarations of @openai/agents do not compile without `skipLibCheck`, which this check does without.
  const entries = packed
    .filter(({ manifest }) => manifest.name !== "@durable/openai-agents")
    .flatMap(publicEntries);
  const compiler = join(home, "node_modules", "typescript");
  const { version } = JSON.parse(readFileSync(join(compiler, "package.json"), "utf8")) as { version: string };
  if (!version.startsWith(typescript)) throw new Error(`TypeScript ${version} is not ${typescript}`);
  const cases = Object.entries(programs) as [Style, Verdict][];
  const place = (expected: Verdict): string => join(home, `${resolution}-${expected}`);
  const build = (expected: Verdict): string => {
    const styles = cases.filter(([, verdict]) => verdict === expected).map(([style]) => style);
    const files =
      expected === "compiles"
        ? Object.assign({}, ...styles.map((style) => programFiles(entries, style)))
        : refusedFiles;
    return note(compile(place(expected), { files, compiler, resolution, expected }));
  };
  const built = new Map([...new Set(cases.map(([, verdict]) => verdict))].map((key) => [key, build(key)]));
  return cases.map(([style, expected]) => {
    const cell = built.get(expected) ?? "";
    const file = style === "import" ? "main.mjs" : "main.cjs";
    const runs = nodes.map(({ path }) =>
      cell === "ok" ? note(runProgram(place(expected), file, path)) : "-",
    );
    return [version, resolution, style === "import" ? "ESM" : `CommonJS, ${style}`, cell, ...runs];
  });
}

function note({ cell, report }: Trial): string {
  if (report !== null) {
    failures += 1;
    console.error(report);
  }
  return cell;
}
