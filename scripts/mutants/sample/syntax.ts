/** The syntax tree of a TypeScript source. Types are stripped first, which moves nothing: offsets are those of the source. */
import { stripTypeScriptTypes } from "node:module";
import { parseAst } from "vite";

export type Node = {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
};

export type Placed = {
  readonly node: Node;
  /** From the innermost outwards. */ readonly parents: readonly Node[];
};

export class Source {
  readonly text: string;
  readonly nodes: readonly Placed[];

  constructor(text: string) {
    this.text = text;
    // Nodes have types of many shapes; they are read by the names of their fields.
    this.nodes = [...walk(parseAst(javaScript(text)) as unknown as Node, [])];
  }

  of({ start, end }: Pick<Node, "start" | "end">): string {
    return this.text.slice(start, end);
  }

  lineAt(offset: number): number {
    let line = 1;
    for (let at = this.text.indexOf("\n"); at !== -1 && at < offset; at = this.text.indexOf("\n", at + 1))
      line += 1;
    return line;
  }
}

/** Without types and of equal length. Throws if it does not parse. */
export function javaScript(text: string): string {
  const stripped = stripTypeScriptTypes(text, { mode: "strip" });
  if (stripped.length !== text.length) throw new Error("The text without types has another length.");
  return stripped;
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && "start" in value;
}

function* walk(node: Node, parents: readonly Node[]): Generator<Placed> {
  yield { node, parents };
  const inner = [node, ...parents];
  for (const value of Object.values(node))
    if (Array.isArray(value)) {
      for (const one of value) if (isNode(one)) yield* walk(one, inner);
    } else if (isNode(value)) yield* walk(value, inner);
}

/** A field that holds a node, or null. */
export function child(node: Node | undefined, field: string): Node | null {
  const value = node?.[field];
  return isNode(value) ? value : null;
}

/** A field that holds a list of nodes. */
export function children(node: Node | undefined, field: string): Node[] {
  const value = node?.[field];
  return Array.isArray(value) ? value.filter(isNode) : [];
}

/** The nodes in this one, without those of functions in it. */
export function* inside(node: Node): Generator<Node> {
  yield node;
  if (isFunction(node)) return;
  for (const value of Object.values(node))
    for (const one of Array.isArray(value) ? value : [value]) if (isNode(one)) yield* inside(one);
}

export function isFunction({ type }: Node): boolean {
  return /^(?:FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(type);
}

/** `Outbox.flush`, `drive > retry`: the names around a node, which stay when lines move. */
export function placeOf(source: Source, { node, parents }: Placed): string {
  const names = [node, ...parents].flatMap((one) => {
    if (
      !/^(?:ClassDeclaration|FunctionDeclaration|MethodDefinition|PropertyDefinition|VariableDeclarator)$/.test(
        one.type,
      )
    )
      return [];
    const named = child(one, "id") ?? child(one, "key");
    return named === null || named === node ? [] : [source.of(named)];
  });
  return names.toReversed().join(" > ");
}
