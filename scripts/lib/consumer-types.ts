/**
 * Assertions about types, compiled outside of the workspace against the packed declarations. So that a compiler which checks
 * nothing does not pass, the assertions about the client are compiled against damaged copies of its declarations as
 * well: each of these must be refused.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compilerOptions } from "./consumer-matrix.ts";
import { compile, type Trial } from "./consumer-trial.ts";
import { capture, root } from "./workspace.ts";

const resolution = "nodenext";

/** The assertions that hold for users, as programs that import the packages by name. */
export const assertions = {
  "wrong uses": read("core/test/wrong-uses.test-d.ts").replace('"../src/index.ts"', '"@durable/core"'),
  "typed client": read("http/test/client.test-d.ts"),
} as const;

function read(path: string): string {
  return readFileSync(join(root, "packages", path), "utf8");
}

/** Something that the declarations could get wrong: what to replace in them. */
export type Damage = readonly [found: RegExp, by: string];

/** What the client could get wrong about an app. */
export const clientDamages: Readonly<Record<string, Damage>> = {
  "dates stay objects": [/T extends Date \| URL/, "T extends URL"],
  "nothing stays undefined": [
    /T extends undefined \| void \? null/,
    "T extends undefined | void ? undefined",
  ],
  "every name is known": [/(type NameIn<[^=]+ = )W\[number\]\["name"\]/, "$1string"],
  "every input fits": [/\? JsonOf<Input> : unknown/, "? any : unknown"],
  "every output fits": [/\? JsonOf<Output> : unknown/, "? any : unknown"],
  "every payload fits": [/(type PayloadOf<[^=]+ = )JsonOf<SchemaInput<M\[K\]>>/, "$1any"],
  "every topic is known": [/\? M : MessageSchemas/, "? Record<string, M[keyof M]> : MessageSchemas"],
};

/** Compiles assertions against the packages that are installed where `folder` is. */
export function compileAssertions(folder: string, compiler: string, text: string): Trial {
  return compile(folder, { files: { "main.mts": text }, compiler, resolution, expected: "compiles" });
}

export interface Copies {
  readonly compiler: string;
  /** They import this entry point. */
  readonly assertions: string;
  readonly specifier: string;
  /** The declarations of the entry point: files by their name, the first one is imported. */
  readonly declarations: Readonly<Record<string, string>>;
  readonly damages: Readonly<Record<string, Damage>>;
}

/** Compiles assertions against a faithful copy of declarations and against damaged ones. Only the first may pass. */
export function compileDamaged(folder: string, given: Copies): Trial {
  const copies = [["faithful", null], ...Object.entries(given.damages)] as const;
  for (const [i, [name, damage]] of copies.entries())
    copyDeclarations(join(folder, `${i}`), name, damage, given);
  const config = { ...compilerOptions(resolution), noEmit: true };
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({ compilerOptions: config, include: ["*/main.mts"] }),
  );
  const tsc = join(given.compiler, "bin", "tsc");
  const { said } = capture(process.execPath, [tsc, "-p", ".", "--pretty", "false"], { cwd: folder });
  const refused = new Set([...said.matchAll(/^(\S+)\(\d+,\d+\): error TS/gm)].map(([, file]) => file));
  const wanted = new Set(copies.slice(1).map((_, i) => `${i + 1}/main.mts`));
  const unnoticed = copies.filter((_, i) => wanted.has(`${i}/main.mts`) && !refused.has(`${i}/main.mts`));
  if (unnoticed.length === 0 && [...refused].every((file) => wanted.has(file ?? "")) && !/^error/m.test(said))
    return { cell: `refuses all ${wanted.size}`, report: null };
  const names = unnoticed.map(([name]) => name).join(", ") || "none";
  return {
    cell: "FAILED",
    report: `${folder}: damages without an error: ${names}. The compiler says:\n${said}`,
  };
}

function copyDeclarations(place: string, name: string, damage: Damage | null, given: Copies): void {
  const files = Object.entries(given.declarations);
  const damaged = files.map(
    ([file, text]) => [file, damage === null ? text : text.replace(...damage)] as const,
  );
  const isDamaged = damaged.some(([file, text]) => text !== given.declarations[file]);
  if (isDamaged !== (damage !== null)) throw new Error(`"${name}" changes nothing in the declarations.`);
  mkdirSync(place, { recursive: true });
  writeFileSync(join(place, "package.json"), '{ "type": "module" }\n');
  for (const [file, text] of damaged) writeFileSync(join(place, file), text);
  const entry = `./${files[0]?.[0].replace(/\.d\.ts$/, ".js")}`;
  const program = given.assertions.replaceAll(`"${given.specifier}"`, `"${entry}"`);
  if (program === given.assertions) throw new Error(`The assertions do not import ${given.specifier}.`);
  writeFileSync(join(place, "main.mts"), program);
}
