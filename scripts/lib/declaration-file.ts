/**
 * Reads one declaration file that tsc wrote, by text: TypeScript 7 has no stable API to ask.
 * Such files hold imports, re-exports and declarations without bodies, one statement after the other.
 */

/** One top-level declaration; overloads of a function are one declaration with several texts. */
export type Declared = {
  readonly name: string;
  readonly kind: "function" | "class" | "interface" | "type" | "const";
  /** The text of the doc comment, without its stars; empty if there is none. */
  readonly doc: string;
  /** The statement, without `export` and `declare`, for each overload. */
  readonly texts: readonly string[];
  /** The doc comment of each overload, without stars. */
  readonly docs: readonly string[];
};

/** A name that comes from another file: `specifier` is as written, `name` is its name there. */
export type Imported = {
  readonly specifier: string;
  readonly name: string;
  /** It comes as a type only, even if it is a class. */
  readonly isType: boolean;
};

export type DeclarationFile = {
  readonly declared: ReadonlyMap<string, Declared>;
  /** By local name. Re-exports are listed by the name under which they leave. */
  readonly imported: ReadonlyMap<string, Imported>;
  readonly exported: ReadonlyMap<string, Imported | string>;
};

type Statement = { readonly doc: string; readonly text: string };

const declaration =
  /^(?:export )?(?:declare )?(?:abstract )?(function|class|interface|type|const|let)\s+([\w$]+)/;
const list = /^(import|export)\s+(type\s+)?\{([^}]*)\}(?:\s*from\s*"([^"]+)")?/;

export function readDeclarations(source: string): DeclarationFile {
  const declared = new Map<string, Declared>();
  const imported = new Map<string, Imported>();
  const exported = new Map<string, Imported | string>();
  for (const { doc, text } of statements(source)) {
    const [, word, typesOnly, names = "", specifier] = list.exec(text) ?? [];
    const [, kind = "", name = ""] = declaration.exec(text) ?? [];
    if (word !== undefined) {
      for (const { outer, name, type } of pairs(names)) {
        const from = { name, isType: type || typesOnly !== undefined };
        if (word === "export") exported.set(outer, specifier === undefined ? name : { specifier, ...from });
        else if (specifier !== undefined) imported.set(outer, { specifier, ...from });
      }
    } else if (kind !== "") {
      const before = declared.get(name);
      const bare = text.replace(/^(?:export )?(?:declare )?/, "");
      declared.set(name, {
        name,
        kind: (kind === "let" ? "const" : kind) as Declared["kind"],
        doc: before?.doc || doc,
        texts: [...(before?.texts ?? []), bare],
        docs: [...(before?.docs ?? []), doc],
      });
      if (text.startsWith("export ")) exported.set(name, name);
    }
  }
  return { declared, imported, exported };
}

/** The names of `a, type b as c`: `outer` is the one after `as`. */
function pairs(names: string): { outer: string; name: string; type: boolean }[] {
  return names
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "")
    .map((item) => {
      const [name = "", outer = name] = item.replace(/^type\s+/, "").split(/\s+as\s+/);
      return { outer, name, type: /^type\s/.test(item) };
    });
}

/** The statements of a file, each with the doc comment right before it. */
function statements(source: string): Statement[] {
  const found: Statement[] = [];
  let doc = "";
  let from = -1;
  let depth = 0;
  for (const { at, end, kind } of tokens(source)) {
    if (kind === "comment") {
      if (from === -1) doc = source.startsWith("/**", at) ? docText(source.slice(at, end)) : "";
      continue;
    }
    if (from === -1) from = at;
    const sign = kind === "sign" ? source.charAt(at) : "";
    if ("{([".includes(sign) && sign !== "") depth += 1;
    if ("})]".includes(sign) && sign !== "") depth -= 1;
    const closesBlock =
      sign === "}" &&
      /^(?:export )?(?:declare )?(?:abstract )?(?:class|interface) /.test(source.slice(from, at));
    if (depth === 0 && (sign === ";" || closesBlock)) {
      found.push({ doc, text: source.slice(from, end) });
      [doc, from] = ["", -1];
    }
  }
  return found;
}

type Token = { readonly at: number; readonly end: number; readonly kind: "comment" | "text" | "sign" };

const token =
  /(\/\*[\s\S]*?\*\/|\/\/[^\n]*)|("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`|[\w$#@]+)|[^\s]/g;

function* tokens(source: string): Generator<Token> {
  for (const match of source.matchAll(token)) {
    const kind = match[1] !== undefined ? "comment" : match[2] !== undefined ? "text" : "sign";
    yield { at: match.index, end: match.index + match[0].length, kind };
  }
}

export type Word = {
  readonly word: string;
  readonly from: number;
  /** The word or sign right before it. */
  readonly before: string;
};

/** The words of a declaration; of comments and texts in quotes, only the names in `${}` are searched. */
export function* wordsIn(text: string): Generator<Word> {
  let before = "";
  for (const { at, end, kind } of tokens(text)) {
    if (kind === "comment") continue;
    const word = text.slice(at, end);
    if (word.startsWith("`"))
      for (const { 1: name = "", index } of word.matchAll(/(?<=\$\{)([A-Za-z_$][\w$]*)/g))
        yield { word: name, from: at + index, before: "{" };
    if (kind === "text" && /^[A-Za-z_$]/.test(word)) yield { word, from: at, before };
    before = word;
  }
}

function docText(comment: string): string {
  return comment
    .slice(3, -2)
    .split("\n")
    .map((line) => line.replace(/^\s*\* ?/, "").trimEnd())
    .join("\n")
    .trim();
}
