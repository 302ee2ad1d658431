/** Slips with whole statements: one is missing, or two have changed places. */
import type { Slip } from "./operators.ts";
import { child, children, inside, type Node, type Placed, type Source } from "./syntax.ts";

const jumps = /^(?:Return|Throw|Continue|Break)Statement$/;

export function statementSlips(source: Source, placed: Placed): Slip[] {
  return [
    ...droppedGuards(placed),
    ...droppedJumps(source, placed),
    ...droppedCalls(source, placed),
    ...swaps(source, placed),
  ];
}

function statementsOf(node: Node): Node[] {
  if (node.type === "SwitchCase") return children(node, "consequent");
  return /^(?:Program|BlockStatement|StaticBlock)$/.test(node.type) ? children(node, "body") : [];
}

/** `if (...) return`, also with statements before the jump. */
function droppedGuards({ node }: Placed): Slip[] {
  const then = child(node, "consequent");
  if (node.type !== "IfStatement" || then === null || child(node, "alternate") !== null) return [];
  const last = then.type === "BlockStatement" ? statementsOf(then).at(-1) : then;
  if (last === undefined || !jumps.test(last.type)) return [];
  return [{ operator: "leave out a guard", from: node.start, to: node.end, text: ";" }];
}

/** A jump after other statements of its block; alone, it is a guard. */
function droppedJumps(source: Source, { node, parents: [block, around] }: Placed): Slip[] {
  if (!jumps.test(node.type) || node.type === "ThrowStatement") return [];
  if (block?.type !== "BlockStatement" || around?.type !== "IfStatement" || statementsOf(block).length < 2)
    return [];
  const value = child(node, "argument");
  const text = value === null ? ";" : `${source.of(value)};`;
  return [{ operator: "leave out an early return", from: node.start, to: node.end, text }];
}

function droppedCalls(source: Source, { node }: Placed): Slip[] {
  const expression = node.type === "ExpressionStatement" ? child(node, "expression") : null;
  const isWrapped = /^(?:AwaitExpression|UnaryExpression|ChainExpression)$/.test(expression?.type ?? "");
  const call =
    expression !== null && isWrapped
      ? (child(expression, "argument") ?? child(expression, "expression"))
      : expression;
  if (!/^(?:CallExpression|ChainExpression)$/.test(call?.type ?? "")) return [];
  if (source.of(node).startsWith("super(")) return [];
  return [{ operator: "leave out a call", from: node.start, to: node.end, text: ";" }];
}

/** Neighbours that both do something, of which at least one calls or jumps, and the second does not need a name of the first. */
function swaps(source: Source, { node }: Placed): Slip[] {
  const statements = statementsOf(node);
  return statements.slice(1).flatMap((second, index) => {
    const first = statements[index] as Node;
    const both = [first, second];
    if (!both.every(canMove) || !both.every((one) => has(one, acts)) || !both.some((one) => has(one, calls)))
      return [];
    if (namesIn(first).some((name) => mentions(source.of(second), name))) return [];
    const between = source.text.slice(first.end, second.start);
    const text = source.of(second) + between + source.of(first);
    return [{ operator: "swap two statements", from: first.start, to: second.end, text }];
  });
}

function canMove({ type }: Node): boolean {
  return /^(?:ExpressionStatement|VariableDeclaration|IfStatement|For\w*Statement|TryStatement)$/.test(type);
}

const calls = /^(?:(?:Await|Call)Expression|(?:Return|Throw|Continue|Break)Statement)$/;
const acts = /^(?:(?:Await|Assignment|Update|Call)Expression|(?:Return|Throw|Continue|Break)Statement)$/;

function has(node: Node, types: RegExp): boolean {
  for (const { type } of inside(node)) if (types.test(type)) return true;
  return false;
}

function namesIn(node: Node): string[] {
  if (node.type !== "VariableDeclaration") return [];
  return children(node, "declarations").flatMap((one) => [...bound(child(one, "id"))]);
}

function* bound(pattern: Node | null): Generator<string> {
  if (pattern === null) return;
  if (pattern.type === "Identifier") yield String(pattern["name"]);
  for (const property of children(pattern, "properties"))
    yield* bound(child(property, "value") ?? child(property, "argument"));
  for (const element of children(pattern, "elements")) yield* bound(element);
  yield* bound(child(pattern, "left"));
  yield* bound(child(pattern, "argument"));
}

function mentions(text: string, name: string): boolean {
  return new RegExp(String.raw`(?<![\w$.])${name.replaceAll("$", String.raw`\$`)}(?![\w$])`).test(text);
}
