/**
 * Reads a reply: the sender's text without quotes, and whether it approves, rejects or changes the plan.
 *
 * R1. Only an unmistakable approval counts, because a program that deploys must not guess. After the yes there may be
 *     courtesy, the sender's name, a signature of names and numbers, and quoted text. Anything else makes it a question
 *     back.
 * R2. Every expression here takes time in proportion to the text: its sender chooses it.
 */

import { nameIn } from "./email.ts";
import { footerName } from "./inbound.ts";

export interface Decision {
  readonly kind: "approve" | "reject" | "change";
  /** The sender's own text. */
  readonly text: string;
}

/** Introduces quoted lines, which have marks of their own. */
const introduction = /^\s*On\b.{0,300}\bwrote:\s*$/i;
const introductionOfAddress = /^\s*On\b.{0,200}<[^<>\s]{1,200}@[^<>\s]{1,200}>\s*$/i;
/** After it everything is the quoted mail, without marks. */
const quoteHead =
  /^\s*(?:-{2,}\s*(?:original message|forwarded message)\s*-{2,}|_{10,}\s*$|From:\s.{0,300}@)/i;
const quoted = /^\s*(?:>|&gt;|\|)/;
/** The last line of every mail of the assistant. */
const footer = new RegExp(`\\[${footerName}:`, "i");

type Part = "own" | "signature" | "quoted" | "after";

/** The lines of each part. `known`: what was taken for the quoted mail, without marks, is one of the assistant. */
function partsOf(body: string): Readonly<Record<Part, readonly string[]>> & { readonly known: boolean } {
  const lines = body.split(/\r\n|\r|\n/);
  const parts: Record<Part, string[]> = { own: [], signature: [], quoted: [], after: [] };
  const hasMarks = lines.some((line) => quoted.test(line));
  let part: Part = "own";
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? "";
    if (quoted.test(line)) continue;
    const isIntroduction = introduction.test(line) || introductionOfAddress.test(line);
    // Some programs fold a long introduction.
    const isFolded =
      !isIntroduction &&
      /^\s*On\b/i.test(line) &&
      introduction.test(`${line.slice(0, 300)} ${lines[at + 1]?.slice(0, 300) ?? ""}`);
    if (isFolded) at += 1;
    if (isIntroduction || isFolded) part = hasMarks ? part : "quoted";
    else if (footer.test(line)) part = "after";
    else if (quoteHead.test(line)) part = "quoted";
    else if (part === "own" && /^-- ?$/.test(line)) part = "signature";
    else if (line.trim() !== "" || part === "own") parts[part].push(line.trimEnd());
  }
  return { ...parts, known: parts.quoted.length === 0 || lines.some((line) => footer.test(line)) };
}

/** The sender's own text, without quoted lines, the quoted mail and the signature. Longer text is cut. */
export function ownWords(body: string, { own } = partsOf(body)): string {
  return own
    .join("\n")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trim()
    .slice(0, 8_000);
}

const assent =
  /^(?:(?:i|we) )?(?:approved?|yes|yep|ok|okay|lgtm|go|ship it|do it|proceed|confirmed|(?:please )?deploy|(?:looks|sounds) good)\b/;
/** The only words that an approval may contain: "Approved, go ahead with the plan." */
const assenting = new Set(
  (
    "i we approve approved yes yep ok okay lgtm go ahead for ship do proceed confirmed deploy looks sounds good " +
    "please and this that it the your with plan proposal deployment release"
  ).split(" "),
);

function isYes(said: string): boolean {
  const words = said.replace(/\bgood to me\b/, "good").split(" ");
  return assent.test(said) && words.every((word) => assenting.has(word));
}

const no = /^(?:reject|rejected|i reject|cancel|stop|abort|decline|declined|do not deploy|don't deploy)\b/;
const bareNo = /^(?:no|nope|no thanks|no thank you)$/;
/** Words that withdraw an approval. */
const doubt = /\b(?:but|instead|except|however|unless|wait|not|don't|rather|only if|first)\b|\d\.\d/i;
/** A signature says nothing about the plan, and takes nothing back. */
const aboutPlan = /\b(?:staging|production|preview|deploy|release|version|until|before|after)\b/i;
const takesBack =
  /\b(?:no|nope|nah|never|stop|halt|hold|cancel\w*|abort\w*|reject\w*|declin\w*|withdr\w+|revok\w*|undo|veto|mistake|wrong|sorry|ignore|disregard|forget|later|tomorrow|actually|pause|postpone)\b/i;

/** True for a line of names, numbers and addresses, as signatures have them: no sentence. */
function isSignature(line: string): boolean {
  if (line.length > 80 || [doubt, aboutPlan, takesBack].some((words) => words.test(line))) return false;
  const small = /^(?:of|and|the|at|for|de|van|von|&|\||-|–|·)$/i;
  const words = line.trim().split(/\s+/);
  return words.every((word) => /^[^\p{Ll}]/u.test(word) || /[@./]\S/.test(word) || small.test(word));
}

const courtesies = new Set(
  (
    "thanks,thank you,many thanks,thanks a lot,thank you very much,thanks again,cheers,please," +
    "best,best wishes,best regards,kind regards,warm regards,with best wishes,with kind regards,regards," +
    "sincerely,yours,yours sincerely,yours faithfully,yours truly,all the best,bye," +
    "have a nice day,have a good day,have a great day,have a nice weekend,have a good weekend"
  ).split(","),
);

/** One line in lower case, without marks that do not change its meaning. */
function spoken(line: string): string {
  return line
    .toLowerCase()
    .replaceAll("’", "'")
    .replaceAll(/[\s.!,;:*_]+/g, " ")
    .trim();
}

/** True for thanks and greetings, for the name of the sender, and for what a telephone adds. */
function isCourtesy(line: string, names: ReadonlySet<string>): boolean {
  const said = spoken(line);
  if (said === "" || courtesies.has(said) || /^sent from my [a-z0-9 ]{1,30}$/.test(said)) return true;
  return said.split(/[ -]/).every((word) => names.has(word));
}

/** The words of the sender's name, and their initials. */
function namesOf(from: string): ReadonlySet<string> {
  const [mailbox = ""] = from.slice(from.lastIndexOf("<") + 1).split("@");
  const words = `${nameIn(from)} ${mailbox}`.toLowerCase().match(/\p{L}+/gu) ?? [];
  return new Set(words.flatMap((word) => [word, word.slice(0, 1)]));
}

/** What a reply says; `from` is its sender, who may sign with a name. */
export function decide(body: string, from = ""): Decision {
  const parts = partsOf(body);
  const text = ownWords(body, parts);
  const [first = "", ...rest] = text.split("\n").filter((line) => line.trim() !== "");
  const said = spoken(first)
    .replace(/^(?:hi|hello|hey|dear)\b.{0,40}$/, "")
    .replace(/ (?:please|thanks|thank you|cheers)$/, "");
  const more = rest.join("\n");
  if (no.test(said) || (bareNo.test(said) && more.length < 200 && !doubt.test(more)))
    return { kind: "reject", text };
  const names = namesOf(from);
  const isClear =
    parts.known &&
    [...rest, ...parts.after].every((line) => isCourtesy(line, names)) &&
    parts.signature.every((line) => isCourtesy(line, names) || isSignature(line));
  return { kind: isYes(said) && isClear ? "approve" : "change", text };
}
