/**
 * What the packages export, with signatures and doc comments, read from the declarations that tsc makes of the
 * sources. Entry points come from `exports` of each package.json, so that no source path is written down here.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import {
  type Declared,
  type DeclarationFile,
  type Imported,
  readDeclarations,
  wordsIn,
} from "./declaration-file.ts";
import { type EntryPoint, entryPoints, publishedPackages, root } from "./workspace.ts";

export type Exported = {
  readonly specifier: string;
  readonly name: string;
  readonly kind: Declared["kind"];
  /** The doc comment; empty if there is none. */
  readonly doc: string;
  /** The declaration as text, followed by the unexported declarations it needs. */
  readonly signature: string;
  /** Other exports that the signature names. */
  readonly uses: readonly { readonly specifier: string; readonly name: string }[];
};

/** By specifier, then by name. */
export type Api = ReadonlyMap<string, ReadonlyMap<string, Exported>>;

/** Makes declarations of all sources in `folder`, which is made anew, and reads them. */
export function readApi(folder: string): Api {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const options = { noEmit: false, declaration: true, emitDeclarationOnly: true, stripInternal: true };
  const config = {
    extends: join(root, "tsconfig.json"),
    compilerOptions: { ...options, rootDir: join(root, "packages"), outDir: join(folder, "types") },
    include: [join(root, "packages", "*", "src", "**", "*.ts")],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  runTool("tsc", ["-p", join(folder, "tsconfig.json")]);
  const entries = publishedPackages()
    .flatMap(entryPoints)
    .map(({ specifier, source }) => {
      return {
        specifier,
        source: declarationOf(join(folder, "types", relative(join(root, "packages"), source))),
      };
    });
  return format(
    describe(entries, (file) => readFileSync(file, "utf8")),
    folder,
  );
}

const declarationOf = (file: string): string => file.replace(/\.ts$/, ".d.ts");

/** Reads the exports of entry points whose `source` is a declaration file. */
export function describe(entries: readonly EntryPoint[], read: (file: string) => string): Api {
  const files = new Files(read, new Map(entries.map(({ specifier, source }) => [specifier, source])));
  const found = entries.map(({ specifier, source }) => {
    const names = [...files.at(source).exported.keys()];
    return { specifier, exports: names.map((name) => ({ name, home: files.find(source, name) })) };
  });
  const publics = new Map<Declared, { readonly specifier: string; readonly name: string }>();
  for (const { specifier, exports } of found)
    for (const { name, home } of exports) if (home !== null) publics.set(home.declared, { specifier, name });
  return new Map(
    found.map(({ specifier, exports }) => [
      specifier,
      new Map(
        exports.map(({ name, home }) => {
          if (home === null) throw new Error(`${specifier} exports ${name}, which is declared nowhere`);
          const { kind, doc } = home.declared;
          return [
            name,
            { specifier, name, kind, doc, ...new Signature(files, publics, { name, home }).read() },
          ];
        }),
      ),
    ]),
  );
}

/** A declaration and the file it stands in. */
type Home = { readonly file: string; readonly declared: Declared };

class Files {
  readonly #read: (file: string) => string;
  readonly #entries: ReadonlyMap<string, string>;
  readonly #known = new Map<string, DeclarationFile>();

  constructor(read: (file: string) => string, entries: ReadonlyMap<string, string>) {
    this.#read = read;
    this.#entries = entries;
  }

  at(file: string): DeclarationFile {
    const known = this.#known.get(file) ?? readDeclarations(this.#read(file));
    this.#known.set(file, known);
    return known;
  }

  /** Where a name that is exported by, declared in or imported by a file is declared; null if not in our sources. */
  find(file: string, name: string): Home | null {
    const { declared, exported, imported } = this.at(file);
    const target = exported.get(name) ?? name;
    if (typeof target !== "string") return this.#follow(file, target);
    const here = declared.get(target);
    if (here !== undefined) return { file, declared: here };
    const from = imported.get(target);
    return from === undefined ? null : this.#follow(file, from);
  }

  #follow(file: string, { specifier, name }: Imported): Home | null {
    const source = specifier.startsWith(".")
      ? join(dirname(file), declarationOf(specifier))
      : this.#entries.get(specifier);
    return source === undefined ? null : this.find(source, name);
  }
}

type Publics = ReadonlyMap<Declared, { readonly specifier: string; readonly name: string }>;

/** The signature of one export: names as users see them, and the declarations behind names they cannot import. */
class Signature {
  readonly #files: Files;
  readonly #publics: Publics;
  readonly #own: { readonly name: string; readonly home: Home };
  /** Declarations that users cannot import: their files, and the names shown for them. */
  readonly #helpers = new Map<Declared, { readonly file: string; readonly shown: string }>();
  readonly #uses = new Map<Declared, { readonly specifier: string; readonly name: string }>();

  constructor(files: Files, publics: Publics, own: { readonly name: string; readonly home: Home }) {
    this.#files = files;
    this.#publics = publics;
    this.#own = own;
  }

  read(): Pick<Exported, "signature" | "uses"> {
    const { name, home } = this.#own;
    const own = this.#text(home, name);
    // What these need in turn is left out: it would be half of the library in places.
    const needed = [...this.#helpers].map(([declared, { file, shown }]) =>
      this.#text({ file, declared }, shown),
    );
    const signature = [own, ...(needed.length === 0 ? [] : ["// Used above, not exported:"]), ...needed];
    return { signature: signature.join("\n\n"), uses: [...this.#uses.values()] };
  }

  #text({ file, declared }: Home, name: string): string {
    const { text, file: from } = this.#withoutAlias(file, declared);
    const shown = declared.kind === "class" ? this.#withoutHidden(from, text) : text;
    return this.#renamed(from, shown, { from: declared.name, to: name });
  }

  /** `type A<V> = B<V>` of a B that users cannot import is shown as what B is. */
  #withoutAlias(file: string, declared: Declared): { readonly text: string; readonly file: string } {
    const text = declared.texts.join("\n");
    const alias = /^(type [\w$]+(<.*>)? = )([\w$]+)(<[^<>]*>)?;$/.exec(text);
    const home = alias === null ? null : this.#files.find(file, alias[3] ?? "");
    if (alias === null || home === null || this.#publics.has(home.declared) || home.declared.kind !== "type")
      return { text, file };
    const right = home.declared.texts.join("\n").replace(/^type [\w$]+(?:<[^=]*=?[^=]*>)? = /, "");
    return { text: `${alias[1]}${right}`, file: home.file };
  }

  /** A class without its private parts, and without a constructor that takes what only the library can make. */
  #withoutHidden(file: string, text: string): string {
    const hidden = (parameters: string): boolean =>
      [...wordsIn(parameters)].some(({ word }) => /^[A-Z]/.test(word) && this.#isHidden(file, word));
    return text
      .replaceAll(/^ +(?:#private|private [^;]*);\n/gm, "")
      .replaceAll(/^(?: +\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)? +\[\w+\]\([^;]*;\n/gm, "")
      .replace(
        /^(?: +\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)? +constructor\(([\s\S]*?)\);\n/m,
        (all, parameters: string) => (hidden(parameters) ? "" : all),
      );
  }

  #isHidden(file: string, word: string): boolean {
    const home = this.#files.find(file, word);
    return home !== null && !this.#publics.has(home.declared);
  }

  /** Names as users import them: the declaration's own, and those of types it mentions. */
  #renamed(file: string, text: string, own: { readonly from: string; readonly to: string }): string {
    let result = "";
    let at = 0;
    for (const { word, from, before } of wordsIn(text)) {
      // Where a name is neither declared nor a type, it is a property or a parameter.
      const declares = /^(?:function|class|interface|type|const)$/.test(before);
      const isType = /^[A-Z]/.test(word) || before === "typeof";
      const shown =
        word === own.from && (declares || isType) ? own.to : isType ? this.#shown(file, word) : word;
      result += text.slice(at, from) + shown;
      at = from + word.length;
    }
    return withoutPatterns(result + text.slice(at));
  }

  /** The name to show for a type's name in this file; notes what it is. */
  #shown(file: string, word: string): string {
    const home = this.#files.find(file, word);
    if (home === null) return word;
    const known = this.#publics.get(home.declared);
    if (known !== undefined) {
      if (home.declared !== this.#own.home.declared) this.#uses.set(home.declared, known);
      return known.name;
    }
    const shown =
      this.#helpers.get(home.declared)?.shown ?? (word === this.#own.name ? `Inner${word}` : word);
    this.#helpers.set(home.declared, { file: home.file, shown });
    return shown;
  }
}

/** Parameters that are taken apart at once get a name instead: how they are taken apart is no part of the type. */
function withoutPatterns(text: string): string {
  return text.replaceAll(/\{ [\w\s:,]+ \}(\??: )(\w+)/g, (_, colon: string, type: string) => {
    const name = type.endsWith("Request") ? "request" : type.endsWith("Query") ? "query" : "options";
    return `${name}${colon}${type}`;
  });
}

const divider = "// ----";

/** Signatures in the form that the formatter of the workspace gives them, all in one go. */
function format(api: Api, folder: string): Api {
  const all = [...api.values()].flatMap((names) => [...names.values()]);
  const file = join(folder, "signatures.d.ts");
  const declared = all.map(({ signature }) =>
    signature.replaceAll(/^(?=(?:abstract )?(?:function|class|const) )/gm, "declare "),
  );
  writeFileSync(file, declared.join(`\n\n${divider}\n`));
  writeFileSync(join(folder, "oxfmt.json"), JSON.stringify({ printWidth: 100 }));
  const ignore = join(folder, "ignore-nothing");
  writeFileSync(ignore, "");
  runTool("oxfmt", ["-c", join(folder, "oxfmt.json"), "--ignore-path", ignore, file]);
  const texts = readFileSync(file, "utf8")
    .replaceAll(/^declare /gm, "")
    .split(divider)
    .map((text) => text.trim());
  const formatted = new Map(all.map((one, i) => [one, { ...one, signature: texts[i] ?? "" }]));
  return new Map(
    [...api].map(([specifier, names]) => [
      specifier,
      new Map([...names].map(([name, one]) => [name, formatted.get(one) ?? one])),
    ]),
  );
}

function runTool(name: string, args: readonly string[]): void {
  const tool = join(root, "node_modules", ".bin", name);
  const { status, stdout, stderr, error } = spawnSync(tool, args, { cwd: root, encoding: "utf8" });
  if (status !== 0)
    throw new Error(`${name} failed: ${error?.message ?? `${stdout}${stderr}`.slice(0, 2_000)}`);
}
