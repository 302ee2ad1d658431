/** One action for many runs: each is asked for on its own, so that each is allowed or refused on its own. */

import { plural } from "./format.ts";

const atOnce = 6;

export interface Done {
  readonly done: number;
  /** Messages of what was refused, and how often. */
  readonly refused: ReadonlyMap<string, number>;
}

/** Some at a time, all of them, whatever becomes of single ones. */
export async function forEach<T>(
  items: readonly T[],
  act: (item: T) => Promise<unknown>,
  progress: (count: number) => void = () => {},
): Promise<Done> {
  const rest = [...items];
  const refused = new Map<string, number>();
  let done = 0;
  const work = async (): Promise<void> => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) {
      await act(item).then(
        () => done++,
        (error: unknown) => {
          // Messages name their run; what differs only in that is one reason.
          const text = error instanceof Error ? error.message : String(error);
          const reason = text.replace(/\brun \S+/i, "The run");
          refused.set(reason, (refused.get(reason) ?? 0) + 1);
        },
      );
      progress(items.length - rest.length);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, work));
  return { done, refused };
}

/** "Retried 36 runs. 2 were refused: …" */
export function doneText(verb: string, what: string, { done, refused }: Done): string {
  const [first] = refused;
  const count = [...refused.values()].reduce((sum, n) => sum + n, 0);
  const text = `${verb} ${plural(done, what)}.`;
  if (first === undefined) return text;
  const others = refused.size === 1 ? "" : ` (and ${plural(refused.size - 1, "other reason")})`;
  return `${text} ${count === 1 ? "One was" : `${count} were`} refused: ${first[0]}${others}`;
}
