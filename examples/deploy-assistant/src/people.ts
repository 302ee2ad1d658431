/**
 * Who may ask for a deployment, and who may approve one. With lists, a mail from any other address starts nothing,
 * answers nothing, and gets no mail. Without them (`null`) anybody may ask, only the sender of a request may approve it,
 * and the server must not be reachable from other machines (config.ts).
 */
export type People = { readonly askers: readonly string[]; readonly approvers: readonly string[] } | null;

export function mayAsk(people: People, address: string): boolean {
  return people === null || has(people.askers, address);
}

/** Who is asked about a request of `asker`. */
export function approversOf(people: People, asker: string): readonly string[] {
  return people?.approvers ?? [asker];
}

export function mayApprove(people: People, address: string, asker: string): boolean {
  return has(approversOf(people, asker), address);
}

function has(addresses: readonly string[], address: string): boolean {
  return addresses.some((one) => one.toLowerCase() === address.toLowerCase());
}
