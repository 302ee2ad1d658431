/** A crash on purpose, in development: the invocation ends at once, with no catch, finally or last word. */

/** What is used of the bucket for questions and reports. */
export interface Site {
  put(name: string, text: string): Promise<unknown>;
  get(name: string): Promise<{ text(): Promise<string> } | null>;
}

/** Dies, if it has not yet done so at this place; which of the two, the bucket remembers. */
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
