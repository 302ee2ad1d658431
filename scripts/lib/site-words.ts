/**
 * The words that the editor of the playground offers: names to import, members of `ctx` and `info`, and the options of each
 * call. They are read from the declarations in the reference, which the docs check compares with the sources.
 */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync } from "oxc-parser";
import { root } from "./workspace.ts";

/** One word: what it is, and its comment. */
interface Word {
  readonly label: string;
  readonly detail: string;
  readonly info: string;
  /** The type whose members an object has there. */
  readonly of?: string;
}

interface Words {
  /** Names that modules export. */
  readonly modules: Readonly<Record<string, readonly Word[]>>;
  /** Members of types, by name. */
  readonly types: Readonly<Record<string, readonly Word[]>>;
  /** For each call, such as `durable` and `ctx.step`, the type of each argument, where it may be an object. */
  readonly calls: Readonly<Record<string, readonly (string | null)[]>>;
}

/** A part of a declaration, as the parser gives it. */
interface Tree {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

/** A part with the text that it stands in. */
interface Part {
  readonly tree: Tree;
  readonly code: string;
}

interface Member {
  readonly word: Word;
  readonly part: Part | null;
}

/** Types that have the members of their first argument. */
const wrappers = ["Partial", "Required", "Readonly", "NoInfer", "Omit", "Pick"];

function read(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

/** What a program of the playground can use: core, and the module of the playground. */
export function editorWords(): Words {
  const pages = globSync("docs/reference/core*.md", { cwd: root }).toSorted();
  const core = wordsOf("@durable/core", pages.map(read));
  const own = wordsOfInterface("playground", "Playground", read("site/playground/model.ts"));
  return {
    modules: { ...core.modules, ...own.modules },
    types: { ...core.types, ...own.types },
    calls: { ...core.calls, ...own.calls },
  };
}

/** The words of a module, from the pages that declare what it exports. */
function wordsOf(module: string, pages: readonly string[]): Words {
  const words = new Reader(pages.flatMap(blocksOf));
  const names = pages.flatMap((page) => namesOf(module, page));
  for (const { label } of names) words.readCalls(label);
  words.readMembers("Context", "ctx");
  words.readMembers("StepInfo", "info");
  return { modules: { [module]: names }, types: words.types, calls: words.calls };
}

/** The words of a module whose exports are the members of an interface. */
function wordsOfInterface(module: string, type: string, source: string): Words {
  const code = [...source.matchAll(/^export (interface [\s\S]*?^\}\n)/gm)]
    .map(([, text = ""]) => text)
    .join("\n");
  const words = new Reader([code.replaceAll(/^interface/gm, "declare interface")]);
  words.readMembers(type, "");
  return { modules: { [module]: words.types[type] ?? [] }, types: words.types, calls: words.calls };
}

/** Blocks of declarations: examples begin with other statements, or have an initializer. */
function blocksOf(page: string): string[] {
  return [...page.matchAll(/^```typescript\n([\s\S]*?)^```/gm)]
    .map(([, code = ""]) => code)
    .filter((code) => /^(?:function|interface|type|class|const \w+:)/.test(code))
    .map((code) => code.replaceAll(/^(?=(?:function|interface|type|class|const) )/gm, "declare "));
}

/** The exports that a page has entries of, with the first sentence of each. */
function namesOf(module: string, page: string): Word[] {
  const markers = page.matchAll(/^<!-- api (\S+): ([\w$, \n]+) -->$/gm);
  const names = [...markers].flatMap(([, from, list = ""]) => (from === module ? list.split(/,\s*/) : []));
  return names.map((label) => {
    const [, call, info = ""] =
      new RegExp(`^### ${label}(\\(\\))?\\n\\n([^\`#][\\s\\S]*?)\\n\\n`, "m").exec(page) ?? [];
    return { label, detail: call ?? "", info: info.replaceAll("\n", " ") };
  });
}

class Reader {
  readonly types: Record<string, Word[]> = {};
  readonly calls: Record<string, (string | null)[]> = {};
  readonly #declared = new Map<string, Part[]>();

  constructor(blocks: readonly string[]) {
    for (const code of blocks)
      for (const statement of parseSync("words.d.ts", code).program.body) {
        const tree = statement as unknown as Tree;
        const name = nameOf(tree["id"]);
        this.#declared.set(name, [...(this.#declared.get(name) ?? []), { tree, code }]);
      }
  }

  /** The arguments of a function, or of the constructor of a class. */
  readCalls(name: string): void {
    for (const part of this.#declared.get(name) ?? []) {
      if (part.tree.type === "TSDeclareFunction") this.#readCall(name, part);
      for (const { tree, code } of bodyOf(part))
        if (tree["kind"] === "constructor") this.#readCall(name, { tree: tree["value"] as Tree, code });
    }
  }

  /** The members of an interface, and the arguments of those that are called by way of `variable`. */
  readMembers(type: string, variable: string): void {
    this.types[type] = this.#wordsOf(this.#membersOfName(type));
    for (const declared of this.#declared.get(type) ?? [])
      for (const part of bodyOf(declared))
        if (part.tree.type === "TSMethodSignature")
          this.#readCall([variable, nameOf(part.tree["key"])].filter((name) => name !== "").join("."), part);
  }

  /** Overloads of a call are read into one list. */
  #readCall(name: string, { tree, code }: Part): void {
    const list = (this.calls[name] ??= []);
    for (const [n, parameter] of (tree["params"] as Tree[]).entries()) {
      const isRest = parameter.type === "RestElement";
      const type = typeIn(parameter);
      // `...args: Arguments<Input, Options>` are an input, and then options.
      const shown = isRest ? argumentsOf(type)[1] : type;
      const of = shown === undefined || shown === null ? null : this.#typeOf({ tree: shown, code });
      const at = isRest ? n + 1 : n;
      while (list.length <= at) list.push(null);
      if (of === null) continue;
      const known = list[at];
      const both = known === null || known === undefined ? [] : (this.types[known] ?? []);
      if (known !== of && both.length > 0) this.#join(known ?? "", this.types[of] ?? []);
      else list[at] = of;
    }
  }

  /** Adds members of another overload. */
  #join(type: string, more: readonly Word[]): void {
    const words = this.types[type] ?? [];
    words.push(...more.filter(({ label }) => words.every((word) => word.label !== label)));
  }

  /** The name under which the members of a type are kept; `null` for one without. */
  #typeOf(part: Part): string | null {
    const text = oneLine(part.code.slice(part.tree.start, part.tree.end));
    if (this.types[text] !== undefined) return text;
    const members = this.#membersOf(part);
    if (members.length === 0) return null;
    // It is there before its members are read, because a type may be in itself.
    this.types[text] = [];
    this.types[text] = this.#wordsOf(members);
    return text;
  }

  #wordsOf(members: readonly Member[]): Word[] {
    const first = members.filter(
      ({ word }, n) => members.findIndex((one) => one.word.label === word.label) === n,
    );
    return first.map(({ word, part }) => {
      const of = part === null ? null : this.#typeOf(part);
      return of === null ? word : { ...word, of };
    });
  }

  #membersOfName(name: string): Member[] {
    return (this.#declared.get(name) ?? []).flatMap((part) => {
      const { tree, code } = part;
      if (tree.type === "TSTypeAliasDeclaration")
        return this.#membersOf({ tree: tree["typeAnnotation"] as Tree, code });
      if (tree.type !== "TSInterfaceDeclaration") return [];
      const bases = (tree["extends"] as Tree[]).flatMap((base) =>
        this.#membersOfReference(nameOf(base["expression"]), { tree: base, code }),
      );
      return [...bodyOf(part).map(memberOf), ...bases].filter((member) => member !== null);
    });
  }

  #membersOf({ tree, code }: Part): Member[] {
    switch (tree.type) {
      case "TSTypeLiteral":
        return (tree["members"] as Tree[])
          .map((one) => memberOf({ tree: one, code }))
          .filter((one) => one !== null);
      case "TSIntersectionType":
      case "TSUnionType":
        return (tree["types"] as Tree[]).flatMap((one) => this.#membersOf({ tree: one, code }));
      case "TSTypeReference":
        return this.#membersOfReference(nameOf(tree["typeName"]), { tree, code });
      default:
        return [];
    }
  }

  #membersOfReference(name: string, { tree, code }: Part): Member[] {
    if (!wrappers.includes(name)) return this.#membersOfName(name);
    const [inner, keys] = argumentsOf(tree);
    if (inner === undefined) return [];
    const members = this.#membersOf({ tree: inner, code });
    if (keys === undefined) return members;
    const named = new Set([...code.slice(keys.start, keys.end).matchAll(/"(\w+)"/g)].map(([, key]) => key));
    return members.filter(({ word }) => named.has(word.label) === (name === "Pick"));
  }
}

/** The members of an interface or of a class. */
function bodyOf({ tree, code }: Part): Part[] {
  const body = tree["body"] as Tree | null | undefined;
  return ((body?.["body"] ?? []) as Tree[]).map((one) => ({ tree: one, code }));
}

function memberOf({ tree, code }: Part): Member | null {
  const label = nameOf(tree["key"]);
  const isMethod = tree.type === "TSMethodSignature";
  if (label === "" || (!isMethod && tree.type !== "TSPropertySignature")) return null;
  const type = isMethod ? null : typeIn(tree);
  const text = type === null ? "" : oneLine(code.slice(type.start, type.end)).replace(/ \| undefined$/, "");
  const [, comment = ""] = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*$/.exec(code.slice(0, tree.start)) ?? [];
  const word = {
    label,
    detail: isMethod ? "()" : text.length > 48 ? `${text.slice(0, 47)}…` : text,
    info: comment.replaceAll(/^\s*\* ?/gm, "").trim(),
  };
  return { word, part: type === null ? null : { tree: type, code } };
}

function typeIn(tree: Tree): Tree | null {
  return (
    ((tree["typeAnnotation"] as Tree | null | undefined)?.["typeAnnotation"] as Tree | undefined) ?? null
  );
}

function argumentsOf(tree: Tree | null): Tree[] {
  return ((tree?.["typeArguments"] as Tree | null | undefined)?.["params"] as Tree[] | undefined) ?? [];
}

function nameOf(tree: unknown): string {
  const { type, name } = (tree ?? {}) as { readonly type?: string; readonly name?: string };
  return type === "Identifier" ? (name ?? "") : "";
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ");
}
