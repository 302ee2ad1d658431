/** A deliberate crash, in development: the invocation ends at once, without catch or finally. */

/** The part of the bucket for questions and reports that is used. */
export interface Site {
  put(name: string, text: string): Promise<unknown>;
  get(name: string): Promise<{ text(): Promise<string> } | null>;
}

/** Crashes once at this place; a mark in the bucket remembers it. */
export async function crashOnce(
  place: string,
  { DEV, SITE }: { readonly DEV?: string; readonly SITE: Site },
): Promise<void> {
  const mark = `crashed/${place}`;
  if (DEV !== "1" || (await SITE.get(mark)) !== null) return;
  await SITE.put(mark, "");
  console.log(`crash: process.exit(1) in ${place}`);
  process.exit(1);
}
