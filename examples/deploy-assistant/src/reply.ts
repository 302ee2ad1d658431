/**
 * Reads a reply: the sender's text without quotes, and whether it approves, rejects or changes the plan.
 *
 * R1. Only an unmistakable approval counts, because a program that deploys must not guess. After the yes there may be
 *     courtesy, the sender's name, a signature of names and numbers, and quoted text. Anything else makes it a question
 *     back.
 * R2. Every expression here takes time in proportion to the text: its sender chooses it.
 */

import { nameIn } from "./email.ts";

export interface Decision {
  readonly kind: "approve" | "reject" | "change";
  /** The sender's own text. */
  readonly text: string;
}

/** Longer text is cut, and not paid for. */
const longest = 8_000;

/** Lines that introduce quoted lines, which have marks of their own. */
const introductions = [
  /^\s*On\b.{0,300}\bwrote:\s*$/i,
  /^\s*On\b.{0,200}<[^<>\s]{1,200}@[^<>\s]{1,200}>\s*$/i,
];
/** Lines after which everything is the quoted mail, without marks. */
const quoteHeads = [
  /^\s*-{2,}\s*(?:original message|forwarded message)\s*-{2,}/i,
  /^\s*_{10,}\s*$/,
  /^\s*From:\s.{0,300}@/i,
];
const quoted = /^\s*(?:>|&gt;|\|)/;
const signature = /^-- ?$/;
/** The last line of every mail of the assistant. */
const footer = /\[deploy-assistant:/i;

interface Parts {
  /** The sender's own text. */
  readonly own: string;
  /** What stands below the signature mark, and below the quoted mail. */
  readonly signature: readonly string[];
  readonly after: readonly string[];
  /** False when lines without marks were taken for the quoted mail, and nothing shows that they are. */
  readonly known: boolean;
}

type Mode = "own" | "signature" | "after" | "quoted";

function partsOf(body: string): Parts {
  const lines = body.split(/\r\n|\r|\n/);
  const parts: Record<Mode, string[]> = { own: [], signature: [], after: [], quoted: [] };
  const hasMarks = lines.some((line) => quoted.test(line));
  let mode: Mode = "own";
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? "";
    if (quoted.test(line)) continue;
    // Some programs fold a long introduction.
    const folded = /^\s*On\b/i.test(line)
      ? `${line.slice(0, 300)} ${lines[at + 1]?.slice(0, 300) ?? ""}`
      : "";
    if (introductions.some((head) => head.test(line))) mode = hasMarks ? mode : "quoted";
    else if (introductions[0]?.test(folded)) {
      mode = hasMarks ? mode : "quoted";
      at += 1;
    } else if (footer.test(line)) mode = "after";
    else if (quoteHeads.some((head) => head.test(line))) mode = "quoted";
    else if (signature.test(line) && mode === "own") mode = "signature";
    else parts[mode].push(line.trimEnd());
  }
  const own = parts.own
    .join("\n")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trim()
    .slice(0, longest);
  // Every mail of the assistant ends with its footer.
  const known = lines.some((line) => footer.test(line)) || parts.quoted.every((line) => line === "");
  return { own, signature: parts.signature, after: parts.after, known };
}

/** The sender's own text, without quoted lines, the quoted mail and the signature. */
export function ownWords(body: string): string {
  return partsOf(body).own;
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
  return (
    assent.test(said) &&
    said
      .replace(/\bgood to me\b/, "good")
      .split(" ")
      .every((word) => assenting.has(word))
  );
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
function isSignature(line: string, names: ReadonlySet<string>): boolean {
  if (isCourtesy(line, names)) return true;
  if (line.length > 80 || [doubt, aboutPlan, takesBack].some((words) => words.test(line))) return false;
  const small = /^(?:of|and|the|at|for|de|van|von|&|\||-|–|·)$/i;
  return line
    .trim()
    .split(/\s+/)
    .every((word) => /^[^\p{Ll}]/u.test(word) || /[@./]\S/.test(word) || small.test(word));
}

const courtesies = new Set(
  [
    "thanks,thank you,many thanks,thanks a lot,thank you very much,thanks again,cheers,please",
    "best,best wishes,best regards,kind regards,warm regards,with best wishes,with kind regards,regards",
    "sincerely,yours,yours sincerely,yours faithfully,yours truly,all the best,bye",
    "have a nice day,have a good day,have a great day,have a nice weekend,have a good weekend",
  ]
    .join()
    .split(","),
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
  const { own: text, ...other } = partsOf(body);
  const [first = "", ...rest] = text.split("\n").filter((line) => line.trim() !== "");
  const said = spoken(first)
    .replace(/^(?:hi|hello|hey|dear)\b.{0,40}$/, "")
    .replace(/ (?:please|thanks|thank you|cheers)$/, "");
  const more = rest.join("\n");
  if (no.test(said) || (bareNo.test(said) && more.length < 200 && !doubt.test(more)))
    return { kind: "reject", text };
  const names = namesOf(from);
  const clear =
    other.known &&
    [...rest, ...other.after].every((line) => isCourtesy(line, names)) &&
    other.signature.every((line) => isSignature(line, names));
  return { kind: isYes(said) && clear ? "approve" : "change", text };
}
