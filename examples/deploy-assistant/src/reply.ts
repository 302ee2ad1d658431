/** Reads a reply: the sender's text without quotes, and whether it approves, rejects or changes the plan. */

export interface Decision {
  readonly kind: "approve" | "reject" | "change";
  /** The sender's own text. */
  readonly text: string;
}

/** Longer text is cut, and not paid for. */
const longest = 8_000;

/** Lines that introduce the quoted mail. */
const quoteHeads = [
  /^\s*On\b.{0,300}\bwrote:\s*$/i,
  /^\s*On\b.{0,200}<[^<>]{0,300}>\s*$/i,
  /^\s*-{2,}\s*(?:original message|forwarded message)\s*-{2,}/i,
  /^\s*_{10,}\s*$/,
  /^\s*From:\s.{0,300}@/i,
  /^-- ?$/,
  /\[deploy-assistant:/i,
];

/** The sender's own text, without quoted lines, the quoted mail and the signature. */
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
const doubt = /\b(?:but|instead|except|however|unless|wait|not|don't|rather|only if|first)\b|\d+\.\d+/i;

/**
 * Only an unmistakable approval counts, because a program that deploys must not guess. "yes, but ..." is a
 * change, which the model reads and a person approves again.
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
