/**
 * Completion from the declarations of core, as the reference has them: what can be imported, the members of `ctx` and `info`,
 * and the options of a call. It goes by the names of the documentation, and does not know the types of a program's own values.
 */
import { snippetCompletion, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { localCompletionSource } from "@codemirror/lang-javascript";
import { syntaxTree } from "@codemirror/language";
import type { EditorState } from "@codemirror/state";
import given from "../.pages/words.json";

interface Word {
  readonly label: string;
  readonly detail: string;
  readonly info: string;
  readonly of?: string;
}

/** What scripts/lib/site-words.ts writes. */
interface Words {
  readonly modules: Readonly<Record<string, readonly Word[]>>;
  readonly types: Readonly<Record<string, readonly Word[]>>;
  readonly calls: Readonly<Record<string, readonly (string | null)[]>>;
}

type Node = ReturnType<ReturnType<typeof syntaxTree>["resolveInner"]>;

const words = given as Words;

/** What a variable is, by the habits of the documentation. */
const typeOf: Readonly<Record<string, string>> = { ctx: "Context", c: "Context", info: "StepInfo" };
const validFor = /^\w*$/;

export function complete(context: CompletionContext): CompletionResult | null {
  const { state, pos } = context;
  const node = syntaxTree(state).resolveInner(pos, -1);
  const from = pos - (context.matchBefore(/\w+$/)?.text.length ?? 0);
  const within = (name: string): Node | null => around(node, name);
  const imported = within("ImportDeclaration");
  if (imported !== null) return inImport(state, { node, imported, from, pos });
  if (/^(?:String|TemplateString|LineComment|BlockComment)$/.test(node.name)) return null;
  const [, variable] = /(\w+)\.\w*$/.exec(state.sliceDoc(Math.max(0, pos - 100), pos)) ?? [];
  if (variable !== undefined) {
    const members = words.types[typeOf[variable] ?? ""];
    return members === undefined ? null : { from, options: members, validFor };
  }
  const object = within("ObjectExpression");
  const isKey = /[{,]\s*\w*$/.test(state.sliceDoc(object?.from ?? pos, pos));
  const type = object === null || !isKey ? null : typeOfObject(state, object);
  if (type !== null && object !== null) return optionsOf(state, { type, object, from, pos });
  return from === pos && !context.explicit ? null : names(context, from);
}

/** The names of a module between the braces of an import, and the names of modules. */
function inImport(
  state: EditorState,
  place: { readonly node: Node; readonly imported: Node; readonly from: number; readonly pos: number },
): CompletionResult | null {
  const { node, imported, from } = place;
  if (node.name === "String")
    return { from: node.from + 1, options: Object.keys(words.modules).map((label) => ({ label })) };
  if (around(node, "ImportGroup") === null) return null;
  const text = state.sliceDoc(imported.from, imported.to);
  const module = /from\s*["'](.*?)["']/.exec(text)?.[1] ?? "@durable/core";
  const others = new Set(state.sliceDoc(imported.from, from).match(/\w+/g));
  return { from, options: (words.modules[module] ?? []).filter(({ label }) => !others.has(label)), validFor };
}

/** Options that the object does not have yet. */
function optionsOf(
  state: EditorState,
  place: { readonly type: string; readonly object: Node; readonly from: number; readonly pos: number },
): CompletionResult {
  const { type, object, from, pos } = place;
  const keys = object
    .getChildren("Property")
    .filter((property) => property.to < from || property.from > pos)
    .map((property) => textOf(state, property.firstChild));
  const options = (words.types[type] ?? []).filter(({ label }) => !keys.includes(label));
  return { from, options: options.map((word) => snippetCompletion(`${word.label}: \${}`, word)), validFor };
}

/** The names that the program imports, and those that it declares. */
function names(context: CompletionContext, from: number): CompletionResult | null {
  const imports = context.state.doc.toString().matchAll(/import\s*\{([^}]*)\}\s*from\s*["'](.*?)["']/g);
  const known = [...imports].flatMap(([, list = "", module = ""]) => {
    const here = new Set(list.match(/\w+/g));
    return (words.modules[module] ?? []).filter(({ label }) => here.has(label));
  });
  const own = localCompletionSource(context)?.options ?? [];
  const others = own.filter(({ label }) => known.every((word) => word.label !== label));
  return { from, options: [...known, ...others], validFor };
}

/** The type of an object: that of an argument of a call, or of an option that contains it. */
function typeOfObject(state: EditorState, object: Node): string | null {
  const { parent } = object;
  if (parent?.name === "ArgList") {
    const call = parent.parent;
    const called = call?.name === "NewExpression" ? call.firstChild?.nextSibling : call?.firstChild;
    // With a type argument, the name stands in an expression of its own.
    const callee = called?.name === "InstantiationExpression" ? called.firstChild : called;
    const name = textOf(state, callee ?? null).replace(/^c\./, "ctx.");
    return words.calls[name]?.[positionIn(parent, object)] ?? null;
  }
  const outer = parent?.name === "Property" ? parent.parent : null;
  const type = outer === null ? null : typeOfObject(state, outer);
  if (type === null || parent === null) return null;
  const key = textOf(state, parent.firstChild);
  return words.types[type]?.find(({ label }) => label === key)?.of ?? null;
}

/** Which argument it is: there is a comma before each but the first. */
function positionIn(list: Node, argument: Node): number {
  let commas = 0;
  for (let one = list.firstChild; one !== null && one.from < argument.from; one = one.nextSibling)
    if (one.name === ",") commas += 1;
  return commas;
}

function around(node: Node, name: string): Node | null {
  for (let one: Node | null = node; one !== null; one = one.parent) if (one.name === name) return one;
  return null;
}

function textOf(state: EditorState, node: Node | null): string {
  return node === null ? "" : state.sliceDoc(node.from, node.to).replaceAll(/\s+/g, "");
}
