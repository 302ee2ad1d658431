/** The slips that are drawn: each operator looks at a node and says what a hand might have written instead. */
import { statementSlips } from "./operators-statement.ts";
import { sqlSlips } from "./operators-sql.ts";
import { child, children, type Node, type Placed, type Source } from "./syntax.ts";

/** A replacement of the text between two offsets. */
export type Slip = {
  readonly operator: string;
  readonly from: number;
  readonly to: number;
  readonly text: string;
  /** The offset whose line tells which tests reach it; `from` if it is not given. */
  readonly at?: number;
};

type Operator = (source: Source, placed: Placed) => Slip[];

const operators: readonly Operator[] = [
  negations,
  droppedOperands,
  otherBounds,
  droppedAwaits,
  otherConstants,
  otherArguments,
  statementSlips,
  sqlSlips,
];

export function slipsOf(source: Source): { slip: Slip; placed: Placed }[] {
  return source.nodes
    .filter((placed) => !isMessage(source, placed))
    .flatMap((placed) =>
      operators.flatMap((operator) => operator(source, placed).map((slip) => ({ slip, placed }))),
    );
}

/** A text for people: what is inside an error, or a line of a log. */
function isMessage(source: Source, { node, parents }: Placed): boolean {
  if (/^(?:Import|Export(?:All|Default))/.test(node.type)) return true;
  const chain = [node, ...parents];
  const text = chain.findIndex(({ type }) => type === "TemplateLiteral");
  return (
    text !== -1 &&
    chain.slice(text).some((one) => {
      const callee = child(one, "callee");
      if (callee === null) return false;
      return /(?:Error|\b(?:console|log|logger)\.\w+|\b(?:refuse|fail|warn))$/.test(source.of(callee));
    })
  );
}

function replaced(operator: string, { start, end }: Node, text: string): Slip {
  return { operator, from: start, to: end, text };
}

function negations(source: Source, { node }: Placed): Slip[] {
  if (!/^(?:If|While|DoWhile)Statement$|^ConditionalExpression$/.test(node.type)) return [];
  const test = child(node, "test");
  if (test === null) return [];
  const inner = test.type === "UnaryExpression" && test["operator"] === "!" ? child(test, "argument") : null;
  const text = inner === null ? `!(${source.of(test)})` : source.of(inner);
  return [replaced("negate a condition", test, text)];
}

function droppedOperands(source: Source, { node }: Placed): Slip[] {
  if (node.type !== "LogicalExpression") return [];
  const sides = [child(node, "left"), child(node, "right")];
  return sides.flatMap((side) =>
    side === null
      ? []
      : [replaced(`drop an operand of ${String(node["operator"])}`, node, `(${source.of(side)})`)],
  );
}

const bounds: Readonly<Record<string, string>> = {
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "===": "!==",
  "!==": "===",
  "-": "+",
  "*": "/",
  "/": "*",
  "%": "*",
};

function otherBounds(source: Source, { node, parents: [parent] }: Placed): Slip[] {
  const right = child(node, "right");
  const left = child(node, "left");
  if (node.type === "CallExpression") return otherExtremes(source, node);
  if (node.type !== "BinaryExpression" || left === null || right === null) return [];
  const operator = String(node["operator"]);
  const other = bounds[operator];
  // To turn an equality round in a condition is to negate the condition.
  const isCondition = parent !== undefined && child(parent, "test") === node;
  if (other === undefined || (isCondition && operator.endsWith("=="))) return [];
  const between = source.text.slice(left.end, right.start);
  return [
    {
      operator: `${other} for ${operator}`,
      from: left.end,
      to: right.start,
      text: between.replace(operator, other),
    },
  ];
}

function otherExtremes(source: Source, node: Node): Slip[] {
  const callee = child(node, "callee");
  const name = callee === null ? "" : source.of(callee);
  if (callee === null || !/^Math\.(?:min|max)$/.test(name)) return [];
  const other = name === "Math.min" ? "Math.max" : "Math.min";
  return [replaced(`${other} for ${name}`, callee, other)];
}

function droppedAwaits(source: Source, { node }: Placed): Slip[] {
  const argument = node.type === "AwaitExpression" ? child(node, "argument") : null;
  return argument === null ? [] : [replaced("leave out await", node, source.of(argument))];
}

function otherConstants(_: Source, { node, parents: [parent] }: Placed): Slip[] {
  if (node.type !== "Literal") return [];
  const { value } = node;
  if (typeof value === "boolean") return [replaced("change a constant", node, String(!value))];
  if (typeof value === "number") {
    const other = value < 10 ? value + 1 : Math.floor(value / 10);
    return [replaced("change a constant", node, String(other))];
  }
  if (typeof value !== "string" || parent === undefined) return [];
  const isDefault =
    (parent.type === "AssignmentPattern" || /^(?:\?\?|\|\|)$/.test(String(parent["operator"]))) &&
    child(parent, "right") === node;
  return isDefault ? [replaced("change a default", node, value === "" ? '"other"' : '""')] : [];
}

/** Only between arguments that look alike: a number for a function is a slip that no one overlooks. */
function otherArguments(source: Source, { node }: Placed): Slip[] {
  const callee = child(node, "callee");
  if (callee === null || source.of(callee).endsWith("Error")) return [];
  const given = children(node, "arguments");
  return given.flatMap((argument, index) => {
    const neighbour = [given[index + 1], given[index - 1]].find(
      (one) => one !== undefined && alike(argument, one),
    );
    if (neighbour === undefined || source.of(argument) === source.of(neighbour)) return [];
    return [replaced("use the argument beside it", argument, source.of(neighbour))];
  });
}

function alike(a: Node, b: Node): boolean {
  const named = /^(?:Identifier|MemberExpression)$/;
  if (named.test(a.type)) return named.test(b.type);
  return a.type === "Literal" && b.type === "Literal" && typeof a["value"] === typeof b["value"];
}
