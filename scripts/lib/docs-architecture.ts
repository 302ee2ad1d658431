/**
 * What ARCHITECTURE.md may say about the sources.
 *
 * D14. It says how many files the path for one evening has, and how many lines, rounded to the hundred. They are the
 *     files in its table, and at most 2,600 lines.
 * D15. Its map of core has the rooms of `floors`, each with the number of its floor. A source file that it names exists.
 */
import { existsSync, globSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
import { floors } from "./floors.ts";

/** More than this is not read in one evening. */
const mostLines = 2_600;

export function architectureProblems(base: string, source: string): string[] {
  return [...eveningProblems(base, source), ...mapProblems(source), ...missingFiles(base, source)];
}

/** A file of the table that is missing is a broken link, and has no lines here. */
function eveningProblems(base: string, source: string): string[] {
  const [, section = ""] = /^## Read it in one evening\n(.*?)(?=^## |$(?!\n))/ms.exec(source) ?? [];
  const said = /\b(\d+) files\b[^.]*?\babout ([\d,]+) lines\b/s.exec(section);
  if (said === null) return ['"Read it in one evening" must say "... files ..., about ... lines"'];
  const files = [...section.matchAll(/^\| \d+ \| \[[^\]]*\]\(([^)#]+)\)/gm)].map(([, path = ""]) =>
    join(base, path),
  );
  const lines = files.reduce((sum, file) => sum + (existsSync(file) ? linesOf(file) : 0), 0);
  const found = [String(files.length), (Math.round(lines / 100) * 100).toLocaleString("en")];
  const [, ...claimed] = said;
  return [
    ...(claimed.join(" ") === found.join(" ")
      ? []
      : [
          `the path for one evening has ${found.join(" files and about ")} lines, and the page says ${claimed.join(" and ")}`,
        ]),
    ...(lines <= mostLines
      ? []
      : [`the path for one evening has ${lines} lines, and the limit is ${mostLines}: leave a file out`]),
  ];
}

function linesOf(file: string): number {
  return readFileSync(file, "utf8").split("\n").length - 1;
}

function mapProblems(source: string): string[] {
  const [, section = ""] = /^## The map of core\n(.*?)(?=^## |$(?!\n))/ms.exec(source) ?? [];
  const shown = [...section.matchAll(/^ ?(\d+)  (\S+)/gm)].map(
    ([, floor = "", room = ""]) => `${floor} ${room}`,
  );
  const rooms = floors.flatMap((names, index) =>
    names.map((name) => `${index + 1} ${name.endsWith(".ts") ? name : `${name}/`}`),
  );
  const missing = rooms.filter((room) => !shown.includes(room));
  const wrong = shown.filter((room) => !rooms.includes(room));
  return [
    ...missing.map((room) => `the map of core lacks "${room}", which is in scripts/lib/floors.ts`),
    ...wrong.map((room) => `the map of core has "${room}", which is not in scripts/lib/floors.ts`),
  ];
}

/** A name may leave out the first folders of its path. */
function missingFiles(base: string, source: string): string[] {
  const named = new Set([...source.matchAll(/`((?:[\w@.-]+\/)*[\w.-]+\.ts)`/g)].map(([, name = ""]) => name));
  const files = globSync("{packages,scripts,examples,bench}/**/*.ts", {
    cwd: base,
    exclude: (path) => path.includes("node_modules"),
  }).map((file) => `/${file.split(sep).join("/")}`);
  return [...named]
    .filter((name) => !files.some((file) => file.endsWith(`/${name}`)))
    .map((name) => `${name}: there is no such source file`);
}
