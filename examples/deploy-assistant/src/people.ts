/**
 * Who may ask for a deployment, and who may approve one: two lists, from the environment. Addresses are compared
 * without regard to case.
 *
 * P1. With lists, a mail from any other address starts nothing, answers nothing, and gets no mail.
 * P2. Without lists anybody may ask, only the sender of a request may approve it, and the server must not be
 *     reachable from other machines (config.ts).
 */

import { addressIn, domainOf, type Email, type Verdict } from "./email.ts";

export interface People {
  /** False when there are no lists. */
  readonly listed: boolean;
  /** Who they are, in one line. */
  readonly line: string;
  /** True when a mail from this address may start a conversation. */
  mayAsk(address: string): boolean;
  /** True when this address may decide about a request of `asker`. */
  mayApprove(address: string, asker: string): boolean;
  /** Who is asked about a request. */
  approversOf(asker: string): readonly string[];
}

/** Both lists are set. */
export function listedPeople(askers: readonly string[], approvers: readonly string[]): People {
  const [asking, approving] = [askers, approvers].map((list) => new Set(list.map(plain)));
  return {
    listed: true,
    line: `${count(askers.length)} may ask (MAY_ASK), ${count(approvers.length)} may approve (MAY_APPROVE)`,
    mayAsk: (address) => asking?.has(plain(address)) === true,
    mayApprove: (address) => approving?.has(plain(address)) === true,
    approversOf: () => approvers,
  };
}

/** No list is set: for a server that only this machine can reach. */
export const anybody: People = {
  listed: false,
  line: "anybody may ask, and only the sender of a request may approve it (no MAY_ASK and MAY_APPROVE): this machine only",
  mayAsk: () => true,
  mayApprove: (address, asker) => plain(address) === plain(asker),
  approversOf: (asker) => [asker],
};

function plain(address: string): string {
  return address.trim().toLowerCase();
}

function count(people: number): string {
  return people === 1 ? "1 address" : `${people} addresses`;
}

/** The address of a mail's sender; the schema of a mail has checked that there is one. */
export function senderOf({ from }: Pick<Email, "from">): string {
  return addressIn(from) ?? "";
}

/**
 * False when the mail provider says that the sender is not the one in `From`. DMARC covers the other two. Where the
 * provider says nothing, the address is all there is.
 */
export function isGenuine(email: Email): boolean {
  const { spf, dkim, dmarc } = email;
  const said = dmarc === undefined || dmarc === null ? [spf, dkim] : [dmarc];
  const domain = domainOf(senderOf(email));
  return said.every((verdict) => verdict === undefined || verdict === null || passes(verdict, domain));
}

/** `pass`, `{ status: "PASS" }`, `true`, or the form `{@example.com : pass}` for the domain of the sender. */
function passes(verdict: NonNullable<Verdict>, domain: string): boolean {
  if (typeof verdict === "boolean") return verdict;
  const text = (typeof verdict === "string" ? verdict : verdict.status).trim().toLowerCase();
  if (!text.startsWith("{")) return text === "pass" || text.startsWith("pass ");
  return text.split(/[{},]/).some((part) => part.replaceAll(" ", "") === `@${domain}:pass`);
}
