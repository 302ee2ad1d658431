/**
 * Finds the token of a reply in what a mail gateway left of it. There is no table: the token itself names the run and
 * the wait, and the library checks its signature. White space, quote marks, soft line breaks, HTML and letter case do
 * not matter. An invalid token still counts as a token: such a mail starts nothing.
 */

import type { Email } from "./email.ts";

/** The text before the token in the last line of every mail. */
export const footerName = "reply-token";

/** A place in the mail, with the texts that may be a token, in the order they are tried. */
export interface Source {
  readonly place: "address" | "thread" | "footer";
  readonly candidates: readonly string[];
}

/** From most to least exact. Without sources the mail is not a reply. */
export function sourcesIn(email: Email, mailbox: string): Source[] {
  const sources: Source[] = [
    { place: "address", candidates: tagsIn(email.to, mailbox) },
    { place: "thread", candidates: [...idsIn(email.inReplyTo), ...idsIn(email.references).toReversed()] },
    { place: "footer", candidates: footersIn(email.body) },
  ];
  return (
    sources
      // A mail quotes every mail before it, but an honest one has no more tokens than this.
      .map(({ place, candidates }) => ({ place, candidates: [...new Set(candidates)].slice(0, 20) }))
      .filter(({ candidates }) => candidates.length > 0)
  );
}

/** All tags of this mailbox; of other mailboxes, only tags that look like a token. */
function tagsIn(to: readonly string[], mailbox: string): string[] {
  return to
    .join(" ")
    .replaceAll('"', "")
    .split(/[\s<>,;:]+/)
    .flatMap((address) => {
      const [, name = "", tag = ""] = /^([^+@]*)\+([^@]*)@/.exec(address) ?? [];
      const isOurs = name.toLowerCase().endsWith(mailbox.toLowerCase());
      return isOurs || /^[a-z0-9]{32,}$/i.test(tag) ? tag : [];
    });
}

/** Message-IDs of the assistant end in the token; others do not have its length. */
function idsIn(ids: readonly string[] | null | undefined): string[] {
  const found = (ids ?? []).join(" ").matchAll(/(?:^|[^a-z2-7])([a-z2-7]{55})@/gi);
  return [...found].map(([, token = ""]) => token);
}

function footersIn(body: string): string[] {
  const found = squeezed(body).matchAll(new RegExp(`\\[${footerName}:([a-z0-9]{1,80})`, "gi"));
  return [...found].map(([, token = ""]) => token.slice(0, 55));
}

const entities: Readonly<Record<string, string>> = {
  gt: ">",
  lt: "<",
  amp: "&",
  nbsp: " ",
  lsqb: "[",
  rsqb: "]",
};

/** The text without everything that a gateway may insert between two characters. */
function squeezed(body: string): string {
  let text = body.replaceAll(/[\u00AD\u200B-\u200F\u2060\uFEFF]+/g, "");
  // Some gateways escape text that is already escaped.
  for (let layer = 1; layer <= 3; layer++)
    text = text
      .replaceAll(/<\/?[a-z][^<>]{0,2000}>/gi, "")
      .replaceAll(/&#(?:(\d{1,6})|x([\da-f]{1,5}));/gi, (_, decimal?: string, hex = "") =>
        String.fromCodePoint(Math.min(Number(decimal ?? `0x${hex}`), 0x10ffff)),
      )
      .replaceAll(/&([a-z]{2,5});/gi, (whole, name: string) => entities[name.toLowerCase()] ?? whole);
  // White space and soft line breaks, quote marks, emphasis.
  return text.replaceAll(/[\s>|=*_\u200B]+/g, "");
}
