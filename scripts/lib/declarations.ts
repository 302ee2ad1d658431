/**
 * The declarations of a package, as they are published: one file with all that an entry leads to, and one file of
 * re-exports for each entry. tsc writes one file for each source file, and declares also what no public type names.
 */
import { globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { type Declared, type DeclarationFile, readDeclarations, wordsIn } from "./declaration-file.ts";

const joined = "declarations";

/** A declaration, or a name of another package. */
type Symbol = { readonly file: string; readonly declared: Declared } | { readonly from: string };

/** Joins the declarations in `dist`; `entries` are the files that users import. Files of others are as they were. */
export function joinDeclarations(dist: string, entries: readonly string[]): void {
  const names = new Joined(dist);
  const lists = entries.map((entry) => names.exportsOf(join(dist, entry)));
  const text = names.text();
  for (const file of globSync("**/*.d.ts", { cwd: dist })) rmSync(join(dist, file));
  if (text !== "") writeFileSync(join(dist, `${joined}.d.ts`), text);
  entries.forEach((entry, i) => {
    const path = relative(dirname(entry), `${joined}.js`).split(sep).join("/");
    const items = lists[i] ?? [];
    const from = JSON.stringify(path.startsWith(".") ? path : `./${path}`);
    const line = items.length === 0 ? "export {};" : `export { ${items.join(", ")} } from ${from};`;
    writeFileSync(join(dist, entry), `${line}\n`);
  });
}

class Joined {
  readonly #dist: string;
  readonly #files = new Map<string, DeclarationFile>();
  /** What is needed, with the name it has here, in the order in which it was found. */
  readonly #names = new Map<Declared | string, string>();
  readonly #taken = new Set<string>();
  readonly #found: Extract<Symbol, { declared: Declared }>[] = [];
  readonly #exports = new Set<string>();

  constructor(dist: string) {
    this.#dist = dist;
  }

  /** The items of the list of exports of an entry. */
  exportsOf(file: string): string[] {
    return [...this.#at(file).exported.keys()].map((outer) => {
      const { symbol, isType } = this.#exported(file, outer);
      const name = this.#nameOf(symbol, outer);
      this.#exports.add(name);
      const hasValue = "declared" in symbol && !/^(?:type|interface)$/.test(symbol.declared.kind);
      return `${isType && hasValue ? "type " : ""}${name === outer ? name : `${name} as ${outer}`}`;
    });
  }

  /** All that the exports lead to. */
  text(): string {
    const texts: string[] = [];
    // Grows while it is read.
    for (const { file, declared } of this.#found)
      declared.texts.forEach((text, i) => {
        texts.push(comment(declared.docs[i] ?? "") + this.#renamed(file, text, declared));
      });
    const packages = [...this.#names].filter(([symbol]) => typeof symbol === "string");
    const imports = packages.map(([symbol, name]) => {
      const [specifier, inner] = JSON.parse(symbol as string) as [string, string];
      return `import { ${inner === name ? name : `${inner} as ${name}`} } from "${specifier}";`;
    });
    const exported = this.#exports.size === 0 ? [] : [`export { ${[...this.#exports].join(", ")} };`];
    return [...imports, ...texts, ...exported].map((line) => `${indent(line)}\n`).join("");
  }

  #at(file: string): DeclarationFile {
    const known = this.#files.get(file) ?? readDeclarations(readFileSync(file, "utf8"));
    this.#files.set(file, known);
    return known;
  }

  #exported(file: string, outer: string): { symbol: Symbol; isType: boolean } {
    const target = this.#at(file).exported.get(outer);
    if (target === undefined) throw new Error(`${relative(this.#dist, file)} does not export ${outer}`);
    if (typeof target !== "string") return this.#follow(file, target);
    const found = this.#local(file, target);
    if (found === null) throw new Error(`${relative(this.#dist, file)} exports ${target}, which is unknown`);
    return found;
  }

  #local(file: string, name: string): { symbol: Symbol; isType: boolean } | null {
    const { declared, imported } = this.#at(file);
    const here = declared.get(name);
    if (here !== undefined) return { symbol: { file, declared: here }, isType: false };
    const from = imported.get(name);
    return from === undefined ? null : this.#follow(file, from);
  }

  #follow(
    file: string,
    { specifier, name, isType }: { specifier: string; name: string; isType: boolean },
  ): { symbol: Symbol; isType: boolean } {
    // All entries share one file: a page that imports another one of them would need the types of Node, too.
    if (specifier.startsWith("node:"))
      throw new Error(`${relative(this.#dist, file)} takes ${name} of ${specifier} into the declarations`);
    if (!specifier.startsWith(".")) return { symbol: { from: JSON.stringify([specifier, name]) }, isType };
    const found = this.#exported(join(dirname(file), specifier.replace(/\.[jt]s$/, ".d.ts")), name);
    return { symbol: found.symbol, isType: isType || found.isType };
  }

  /** The name of a symbol in the joined file: the wish of the first who asks, unless another one has it. */
  #nameOf(symbol: Symbol, wish: string): string {
    const key = "declared" in symbol ? symbol.declared : symbol.from;
    const known = this.#names.get(key);
    if (known !== undefined) return known;
    let name = wish;
    while (this.#taken.has(name)) name = `Inner${name}`;
    this.#names.set(key, name);
    this.#taken.add(name);
    if ("declared" in symbol) this.#found.push(symbol);
    return name;
  }

  /** With a private constructor, if it takes an object of a class that users cannot import: it would lead to half of the engine. */
  #closed(file: string, text: string): string {
    return text.replace(/^ {4}constructor\([\s\S]*?\);$/m, (constructor) => {
      const isHidden = [...wordsIn(constructor)].some(({ word }) => {
        const symbol = this.#local(file, word)?.symbol;
        if (symbol === undefined || !("declared" in symbol)) return false;
        const { declared } = symbol;
        return declared.kind === "class" && !this.#exports.has(this.#names.get(declared) ?? "");
      });
      return isHidden ? "    private constructor();" : constructor;
    });
  }

  /** With the names that its own and other declarations have in the joined file. */
  #renamed(file: string, declaration: string, own: Declared): string {
    const text = this.#closed(file, declaration).replaceAll(
      /\bimport\("(\.[^"]+)"\)\.([\w$]+)/g,
      (_, specifier: string, name: string) =>
        this.#nameOf(this.#follow(file, { specifier, name, isType: true }).symbol, name),
    );
    let result = /^(?:abstract class|class|function|const|let) /.test(text) ? "declare " : "";
    let at = 0;
    for (const { word, from, before } of wordsIn(text)) {
      if (before === ".") continue;
      const named = word === own.name ? { file, declared: own } : this.#local(file, word)?.symbol;
      if (named === undefined || !names(named, before, text.slice(from + word.length))) continue;
      result += text.slice(at, from) + this.#nameOf(named, word);
      at = from + word.length;
    }
    return result + text.slice(at);
  }
}

/** True where a word is the name of a symbol: everywhere else it is a property or a parameter of this name. */
function names(symbol: Symbol, before: string, after: string): boolean {
  if (!("declared" in symbol) || !/^(?:function|const)$/.test(symbol.declared.kind))
    return !/^\s*\??:/.test(after) || /^[?:|&]$/.test(before);
  return /^(?:typeof|function|const|let)$/.test(before) || (before === "[" && after.startsWith("]"));
}

function comment(doc: string): string {
  if (doc === "") return "";
  const lines = doc.split("\n");
  if (lines.length === 1) return `/** ${doc} */\n`;
  return ["/**", ...lines.map((line) => ` * ${line}`.trimEnd()), " */\n"].join("\n");
}

/** Tabs weigh a quarter of the spaces that tsc writes. */
function indent(text: string): string {
  return text.replaceAll(/^(?: {4})+/gm, (spaces) => "\t".repeat(spaces.length / 4));
}
