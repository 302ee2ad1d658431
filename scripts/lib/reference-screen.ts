/** The API on one screen: a line for each function, and for each member of what people hold in their hands. */
import type { Exported } from "./api.ts";

/** The name under which a program has an object of this type. */
const holders: ReadonlyMap<string, string> = new Map([
  ["Context", "ctx"],
  ["Workflow", "flow"],
  ["App", "app"],
  ["Run", "run"],
  ["Journal", "journal"],
  ["StepInfo", "info"],
  ["Schedules", "app.schedules"],
]);

/** A comment, then a member that is two blanks deep. */
const member = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n {2}(static )?(?:readonly )?(\w+)\??[<(:]/g;

/** One row for a function, or one for each documented member of an interface or a class. */
export function screenRows({ name, kind, doc, signature }: Exported): string {
  if (kind === "function") return row(`${name}${argumentsOf(signature, `function ${name}`)}`, doc);
  const holder = holders.get(name);
  if (holder === undefined) throw new Error(`scripts/lib/reference-screen.ts has no name for a ${name}`);
  const rows = [...signature.matchAll(member)].map(([, comment = "", isStatic, own = ""]) => {
    const call = argumentsOf(signature, `\n  ${isStatic ?? ""}${own}`);
    return row(`${isStatic === undefined ? holder : name}.${own}${call}`, comment);
  });
  return rows.join("\n");
}

/** The arguments of the last form of a function, which is the most general one; nothing for what is not a function. */
function argumentsOf(signature: string, begin: string): string {
  const places = ["<", "("].map((mark) => signature.lastIndexOf(`${begin}${mark}`));
  const at = Math.max(...places);
  return at === -1 ? "" : argumentsIn(signature, at + begin.length);
}

function row(call: string, comment: string): string {
  const said = comment.replaceAll(/\s*\n\s*\* ?/g, " ").trim();
  const sentence = /^.*?[^.]\.(?= |$)/s.exec(said)?.[0] ?? said;
  return `| \`${call}\` | ${sentence.replaceAll("|", "\\|").replaceAll("\n", " ")} |`;
}

/** The names of the arguments, from the place of their bracket, or of that of the types before it. */
function argumentsIn(signature: string, at: number): string {
  const from = signature[at] === "<" ? closing(signature, at) + 1 : at;
  const list = split(signature.slice(from + 1, closing(signature, from)));
  const names = list.flatMap((one) => {
    const [, rest, name, isOptional] = /^(\.\.\.)?(\w+)(\?)?/.exec(one) ?? [
      undefined,
      undefined,
      "options",
      undefined,
    ];
    // The arguments of a workflow: its input, which may be left out, and options.
    if (rest !== undefined) return ["input", "options?"];
    return [`${name}${isOptional ?? ""}`];
  });
  return `(${names.join(", ")})`;
}

const brackets: Readonly<Record<string, number>> = {
  "(": 1,
  "[": 1,
  "{": 1,
  "<": 1,
  ")": -1,
  "]": -1,
  "}": -1,
  ">": -1,
};

/** How a character changes the depth; the end of an arrow is not a bracket. */
function step(text: string, at: number): number {
  return text[at] === ">" && text[at - 1] === "=" ? 0 : (brackets[text[at] ?? ""] ?? 0);
}

/** The place of the bracket that closes the one at a place. */
function closing(text: string, at: number): number {
  let depth = 0;
  for (let place = at; place < text.length; place++) {
    depth += step(text, place);
    if (depth === 0) return place;
  }
  return text.length;
}

/** The parts between commas that are in no bracket. */
function split(list: string): string[] {
  const parts = [""];
  let depth = 0;
  for (let at = 0; at < list.length; at++) {
    depth += step(list, at);
    if (depth === 0 && list[at] === ",") parts.push("");
    else parts.push(`${parts.pop() ?? ""}${list[at] ?? ""}`);
  }
  return parts.map((part) => part.trim()).filter((part) => part !== "");
}
