/** What a reply says: its own words without the quoted ones, and whether they are a yes, a no or something else. */

export interface Decision {
  readonly kind: "approve" | "reject" | "change";
  /** The sender's own words. */
  readonly text: string;
}

/** More is not read, nor paid for. */
const longest = 8_000;

/** Lines that begin the mail that is answered. */
const quoteHeads = [
  /^\s*On\b.{0,300}\bwrote:\s*$/i,
  /^\s*On\b.{0,200}<[^<>]{0,300}>\s*$/i,
  /^\s*-{2,}\s*(?:original message|forwarded message)\s*-{2,}/i,
  /^\s*_{10,}\s*$/,
  /^\s*From:\s.{0,300}@/i,
  /^-- ?$/,
  /\[deploy-assistant:/i,
];

/** The sender's own words: quoted lines, the quoted mail below them and the signature are left out. */
export function ownWords(body: string): string {
  const own: string[] = [];
  for (const line of body.split(/\r\n|\r|\n/)) {
    if (quoteHeads.some((head) => head.test(line))) break;
    if (!/^\s*(?:>|&gt;|\|)/.test(line)) own.push(line.trimEnd());
  }
  return own
    .join("\n")
    .replaceAll(/\n{3,}/g, "\n\n")
    .trim()
    .slice(0, longest);
}

const assent =
  /^(?:(?:i|we) )?(?:approved?|yes|yep|ok|okay|lgtm|go|ship it|do it|proceed|confirmed|(?:please )?deploy|(?:looks|sounds) good)\b/;
/** What a yes may be made of, and nothing else: "Approved, go ahead with the plan." */
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
/** After a yes, these say that it was not one. */
const doubt = /\b(?:but|instead|except|however|unless|wait|not|don't|rather|only if|first)\b|\d+\.\d+/i;

/**
 * Only an unmistakable yes is one. A program that deploys does not guess: "yes, but ..." is a change, and what
 * a change means is for the model to read and for a person to approve again.
 */
export function decide(body: string): Decision {
  const text = ownWords(body);
  const [first = "", ...rest] = text.split("\n").filter((line) => line.trim() !== "");
  const line = first
    .toLowerCase()
    .replaceAll("’", "'")
    .replaceAll(/[\s.!,;:*_]+/g, " ")
    .trim();
  const said = line
    .replace(/^(?:hi|hello|hey|dear)\b.{0,40}$/, "")
    .replace(/\s*(?:please|thanks|thank you|cheers)$/, "");
  if (no.test(said) || (bareNo.test(said) && rest.join(" ").length < 200 && !doubt.test(rest.join(" "))))
    return { kind: "reject", text };
  if (isYes(said) && !doubt.test(rest.join("\n"))) return { kind: "approve", text };
  return { kind: "change", text };
}
